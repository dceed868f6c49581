"""`hpcbench logs` as it is called."""

from __future__ import annotations

import json
import re
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hpcbench.commands.inspect import logs
from hpcbench.store.logs import Follower
from tests.conftest import CommandLine

pytestmark = pytest.mark.integration


def titles(text: str) -> list[str]:
    return re.findall(r"==> .*: (.*) <==", text)


def test_the_logs_of_a_sweep_begin_with_failed_runs(small: CommandLine) -> None:
    shown = small("logs").stdout
    assert titles(shown) == [
        "speed=3 run 1, failed",
        "speed=1 run 1, completed",
        "speed=2 run 1, completed",
    ]
    assert "rate=2\n" in shown
    only = small("logs", "trial", "--failed").stdout  # the latest sweep of the experiment
    assert "==>" not in only
    assert "rate=3\n" in only


def test_a_case_is_chosen_by_its_parameters_and_a_run_by_its_number(small: CommandLine) -> None:
    assert "speed is 2\n" in small("logs", "speed=2").stdout
    assert "speed is 2\n" in small("logs", "small", "speed=2", "--run", "1").stdout
    assert "no log of a run found" in small("logs", "speed=2", "--run", "2", expect=1).stderr
    assert "no log of a failed run found" in small("logs", "speed=2", "--failed", expect=1).stderr
    error = small("logs", "nothing", expect=2).stderr
    assert "CASE of small, the latest sweep, because 'nothing' is not a sweep" in error
    assert "'nothing' not found" in small("logs", "nothing", "speed=2", expect=2).stderr


def test_lines_are_counted_from_the_end_and_paths_are_files(small: CommandLine) -> None:
    whole = small("logs", "speed=1").stdout.splitlines()
    assert small("logs", "speed=1", "--lines", "2").stdout.splitlines() == whole[-2:]
    log = small.workspace / small("logs", "speed=1", "--path").stdout.strip()
    log.write_text("".join(f"line {number}\n" for number in range(100)) + "\x1b[2J50 %\r100 %\n")
    assert "line 80\n" not in small("logs").stdout
    assert "line 5\n" in small("logs", "--all").stdout
    assert small("logs", "speed=1").stdout.endswith("line 99\n?[2J50 %\n100 %\n")


def test_an_archive_has_its_logs(small: CommandLine) -> None:
    small("archive", "-o", "small.tar.gz")
    assert "speed is 2\n" in small("logs", "small.tar.gz", "speed=2").stdout
    assert "--path cannot be used with an archive" in small("logs", "small.tar.gz", "--path", expect=2).stderr


def test_only_a_running_run_is_followed(small: CommandLine) -> None:
    assert "no run is running" in small("logs", "--follow", expect=2).stderr
    assert "--follow cannot be used with --failed" in small("logs", "-f", "--failed", expect=2).stderr


def test_a_running_run_is_followed_to_its_end(command_line: CommandLine, wait_until) -> None:
    go = command_line.workspace / "go"
    waiting = f"echo begun; while ! [ -e {go} ]; do sleep 0.1; done; echo ended"
    experiment = {
        "name": "trial",
        "parameters": {"framework": "command", "command": waiting},
        "measure": {"repetitions": 1, "retries": 0},
    }
    (command_line.workspace / "trial.yaml").write_text(json.dumps(experiment))
    sweep = command_line.start("sweep", "trial.yaml", "--local", "--name", "slow")
    try:
        wait_until(lambda: any("begun" in log.read_text() for log in command_line.workspace.glob("jobs/slow/logs/*/*")))
        threading.Timer(1.5, go.touch).start()
        done = command_line("logs", "--follow")
    finally:
        go.touch()
        sweep.communicate(timeout=60)
    assert "begun\n" in done.stdout
    assert "ended\n" in done.stdout


@pytest.mark.parametrize(("state", "ended"), [("running", False), ("unknown", False), ("completed", True)])
def test_a_run_is_followed_also_while_slurm_does_not_respond(
    monkeypatch: pytest.MonkeyPatch, state: str, ended: bool
) -> None:
    run: Any = SimpleNamespace(job="job-001", element=0, state=state)
    sweep: Any = SimpleNamespace(scheduler="slurm")
    monkeypatch.setattr(logs, "or_records", lambda *_: SimpleNamespace(runs=[run]))
    monkeypatch.setattr(logs, "SLURM_QUERY_S", 0.0)
    assert logs._ending(sweep, run)() is ended


def test_what_is_added_to_a_log_is_read_once_and_a_new_log_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes("größ".encode()[:4])
    log = Follower(path)
    assert "".join(log.new()) == "grö"
    with path.open("ab") as file:
        file.write("größer\n".encode()[4:])
    assert "".join(log.new()) == "ßer\n"
    assert "".join(log.new()) == ""
    time.sleep(0.01)
    path.write_text("new\n")
    assert "".join(log.new()) == "new\n"
