"""A program on the command line becomes a sweep like any other."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from hpcbench.commands.run import run
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace

pytestmark = pytest.mark.integration

ONCE = ("--local", "--repetitions", "1", "--set", "measure.retries=0")
PROGRAM = """import sys
size = int(sys.argv[1])
for epoch in range(3):
    print(f"epoch {epoch} rate={size * 100 + epoch} samples/s")
"""


@pytest.fixture
def program(command_line: Any) -> Path:
    file: Path = command_line.workspace / "train.py"
    file.write_text(PROGRAM)
    return file


def test_a_program_is_timed_recorded_and_reported(command_line, program) -> None:
    done = command_line("run", *ONCE, "--", "python3", program.name, "7")
    assert "1 case, 1 run, 1 job, on this machine (site laptop)" in done.stderr
    assert "train: python3 train.py 7" in done.stdout
    (record,) = command_line.records()
    assert (record["status"], record["parameters"]["command"]) == ("completed", "python3 train.py 7")
    assert re.search(r"next: hpcbench report train-\S+ (--html report.html|-o results.csv)\n", done.stderr)
    assert "1 completed" in command_line("status").stdout


def test_detach_without_slurm_warns_and_waits(command_line, program) -> None:
    done = command_line("run", *ONCE, "--detach", "--", "python3", program.name, "7")
    assert "warning: --detach has no effect without Slurm" in done.stderr
    assert "1 completed" in command_line("status").stdout


def test_parameters_reach_the_program_and_the_first_metric_ranks(command_line, program) -> None:
    asked = ("-P", "size=1..3:2", "-P", "seed=1", "--extract", "rate:higher=rate=([0-9.]+)")
    done = command_line("run", *ONCE, *asked, "--", "python3", "train.py", "{size}", "{seed}")
    rows = command_line.report()
    assert {row["param_size"]: row["metric_rate"] for row in rows} == {"1": "102.0", "3": "302.0"}  # the last match
    assert "size=3 (302) is 2.96x" in " ".join(done.stdout.split())
    ranked = [line.split()[:2] for line in done.stdout.splitlines() if line.split()[1:2] in (["302"], ["102"])]
    assert ranked == [["3", "302"], ["1", "102"]]  # in one ranking, the best first


def test_an_experiment_is_saved_and_continues_as_a_sweep(command_line, program) -> None:
    options = ("-P", "size=1,2", "--nodes", "1", "--set", "slurm.time=00:05:00")
    arguments = (*options, "--", "python3", "train.py", "{size}")
    done = command_line("run", *ONCE, "--save", "bench.yaml", *arguments)
    saved = command_line.workspace / "bench.yaml"
    assert "hpcbench sweep bench.yaml --local" in done.stderr
    data = yaml.safe_load(saved.read_text())
    assert (data["name"], data["matrix"], data["same_workload"]) == ("train", {"size": [1, 2]}, ["size"])
    assert data["slurm"] == {"time": "00:05:00"}
    assert not (command_line.workspace / "jobs").exists()
    command_line("sweep", "bench.yaml", "--local")
    assert len(command_line.report()) == 2
    again = command_line("run", "--save", "bench.yaml", *arguments, expect=2)
    assert "already exists" in again.stderr


def test_a_pattern_that_matches_nothing_is_told_once_with_the_number_of_runs(command_line) -> None:
    asked = ("--repetitions", "2", "-P", "n=1,2", "--extract", "rate:higher=rate=([0-9]+)")
    done = command_line("run", *ONCE, *asked, "--", "echo", "size", "{n}", expect=1)
    assert done.stderr.count("the pattern 'rate=([0-9]+)' was not found in the output") == 1
    assert done.stderr.count("run 2: completed, metric not found\n") == 2
    assert "4 runs completed, metric not found; reasons: hpcbench status echo-" in done.stderr


def test_a_found_metric_ranks_and_is_saved(command_line, program) -> None:
    asked = ("-P", "size=1,3", "--metric", "rate:lower", "--", "python3", "train.py", "{size}")
    done = command_line("run", *ONCE, *asked)
    ranked = [line.split()[0] for line in done.stdout.splitlines() if line.split()[1:2] in (["302"], ["102"])]
    assert ranked == ["1", "3"], "the lowest first"
    assert "302" in command_line("report").stdout, "which needs no --metric"
    saved = command_line("run", *ONCE, "--save", "-", *asked).stdout
    assert saved.startswith("# yaml-language-server: $schema=")
    assert yaml.safe_load(saved)["rank_by"] == "rate:lower"


def test_history_follows_the_metric_that_ranks(command_line, program) -> None:
    metrics = ("--extract", "rate:higher=rate=([0-9.]+)", "--extract", "epoch:lower=epoch ([0-9]+)")
    command_line("run", *ONCE, *metrics, "--metric", "epoch", "--", "python3", "train.py", "7")
    first, *_ = command_line("history", "train", expect=3).stdout.splitlines()
    assert first.startswith("train on laptop: 1 sweep")
    assert first.endswith(", epoch")


def test_history_does_not_follow_the_throughput_of_commands(command_line, program) -> None:
    command_line("run", *ONCE, "--metric", "throughput", "--", "python3", "train.py", "7")
    done = command_line("history", "train", expect=3)
    assert "unknown metric 'throughput', so the default metric is followed" in done.stderr
    assert done.stdout.splitlines()[0].endswith(", wall time")
    assert "unknown metric 'throughput'" in command_line("history", "train", "--metric", "throughput", expect=2).stderr


def test_a_saved_experiment_is_run_with_the_options_that_a_file_cannot_have(command_line, program) -> None:
    options = ("--site", "laptop", "--name", "a b", "--no-fail-fast", "--max-failures", "2")
    done = command_line("run", "--local", *options, "--save", "b.yaml", "--", "python3", "train.py", "7")
    given = "--site laptop --local --name 'a b' --no-fail-fast --max-failures 2"
    assert f"hpcbench sweep b.yaml {given}" in " ".join(done.stderr.split())


def test_a_report_without_the_metric_of_rank_by_warns_and_ranks_by_the_default(command_line) -> None:
    done = command_line("run", *ONCE, "--metric", "rate:lower", "--", "echo", "7")
    told = "unknown metric 'rate:lower', so the cases are ranked by the default metric"
    assert f"--metric of hpcbench run: {told}" in done.stderr
    assert "echo 7" in done.stdout
    command_line("run", "--save", "echo.yaml", "--metric", "rate:lower", "--repetitions", "1", "--", "echo", "7")
    command_line("sweep", "echo.yaml", "--local", "--name", "saved")
    assert f"warning: rank_by: {told}" in command_line("report", "saved").stderr


def test_a_found_metric_without_a_better_direction_warns_with_the_command_that_ranks_by_it(command_line) -> None:
    done = command_line("run", *ONCE, "--name", "one", "--metric", "width", "--", "echo", "width=7")
    hint = "to rank by 'width': hpcbench report one --metric width:higher (or width:lower)"
    told = f"the better direction of 'width' is unknown, so the cases are ranked by the default metric; {hint}"
    assert f"warning: --metric of hpcbench run: {told}\n" in done.stderr


def test_runs_with_different_units_are_a_warning_until_the_pattern_matches_them(command_line, tmp_path) -> None:
    program = ("bash", "-c", "echo speed: 900 $0", "{unit}")
    pattern = "speed:higher=speed: ([0-9.]+)"
    done = command_line("run", *ONCE, "--name", "one", "-P", "unit=MB/s,GB/s", "--extract", pattern, "--", *program)
    warned = "warning: metric 'speed' has different units (MB/s, GB/s), and its values are not converted; to convert"
    assert warned in done.stderr
    command_line("run", "--save", "one.yaml", "-P", "unit=MB/s,GB/s", "--extract", pattern, "--", *program)
    saved = tmp_path / "one.yaml"
    unit = "'speed: (?P<value>[0-9.]+) (?P<unit>\\w+/s)'\n    unit: MB/s"
    saved.write_text(saved.read_text().replace("'speed: ([0-9.]+)'", unit))
    assert "speed: found in 2 of 2 runs, 900 to 900000 MB/s" in command_line("reparse", "one", "one.yaml").stdout
    assert "different units" not in command_line("report", "one").stderr


def test_a_program_that_fails_is_status_1_with_its_reason(command_line) -> None:
    done = command_line("run", *ONCE, "--", "bash", "-c", "echo no fuel >&2; exit 3", expect=1)
    assert "the command exited with 3: no fuel" in done.stderr
    assert re.search(r"next: hpcbench logs bash-\S+ --failed\n", done.stderr)


@pytest.mark.parametrize("offered", [{}, {"mine": {}, "command": {}, "other": {}}], ids=["none", "two"])
def test_a_missing_python_module_has_the_hint_to_use_an_environment(command_line, offered) -> None:
    site = command_line.site(environments=offered)
    words = ("--site", site, "--local", "--repetitions", "1", "--", "python3", "-c", "import no_such_module")
    said = command_line("run", *words, expect=1).stderr
    assert "No module named 'no_such_module'" in said
    hint = "to use an environment that may have it, add --environment mine or other\n"
    assert (hint in said, "--environment" in said) == (bool(offered), bool(offered))


@pytest.mark.parametrize(
    ("missing", "written"), [([], "--html report.html"), (["altair"], "-o results.csv")], ids=["with", "without"]
)
def test_the_next_command_writes_a_page_only_if_its_packages_are_installed(
    missing: list[str], written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "missing_packages", lambda document: missing if document == "html" else [])
    monkeypatch.setattr(run, "run_states", lambda sweep: {"completed": 1, "failed": 5})
    sweep = Sweep(Workspace(Path("/work")).paths("a b"), {})
    assert run._next(sweep) == f"hpcbench report 'a b' {written}"


@pytest.mark.parametrize(
    ("states", "command"),
    [
        ({"failed": 1, "skipped": 5}, "logs 'a b' --failed"),
        ({"timeout": 1}, "logs 'a b' --failed"),
        ({"unsupported": 6}, "status 'a b'"),
        ({"skipped": 1, "without result": 5}, "status 'a b'"),
    ],
)
def test_the_next_command_shows_logs_only_if_a_run_failed(
    states: dict[str, int], command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "run_states", lambda sweep: states)
    assert run._next(Sweep(Workspace(Path("/work")).paths("a b"), {})) == f"hpcbench {command}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "PROGRAM"),
        (["--", "", "train.py"], "missing PROGRAM"),
        (["--save", "bench.yaml", "--dry-run", "--", "true"], "--save cannot be used with --dry-run"),
        (["-P", "a=1", "--", "true"], "the command does not use 'a'"),
        (["-P", "a=1", "-P", "a=2", "--", "echo", "{a}"], "'a' is also set by -P"),
        (["--nodes", "2", "-P", "nodes=2", "--", "true"], "'nodes' is also set by --nodes"),
        (["--extract", "rate", "--", "true"], "NAME[:higher|:lower]=REGEX"),
        (["--metric", "rate:best", "--", "true"], "'rate:best' is not NAME, NAME:higher or NAME:lower"),
        (["--metric", "a", "--extract", "a=(1)", "--", "true"], "the better direction of 'a' is unknown"),
        (["--metric", "rat", "--extract", "rate=(1)", "--", "true"], "--metric rat: rank_by: unknown metric 'rat'"),
        (["--extract", "rate=x", "--", "true"], "needs a group for the number"),
        (["--launch", "ssh", "--", "true"], "ssh"),
    ],
)
def test_a_mistake_is_refused_and_nothing_is_written(arguments: list[str], message: str, invoke) -> None:
    done = invoke("run", *arguments, expect=2)
    assert message in " ".join(done.stderr.split())
    assert not list(invoke.workspace.iterdir())


def test_a_dry_run_writes_nothing_and_shows_the_command(invoke) -> None:
    done = invoke("run", "--local", "--dry-run", "-P", "n=1,2", "--", "echo", "{n}", "a b")
    assert "echo 1 'a b'" in done.stdout
    assert "node-hours" not in done.stdout
    assert "#!/bin/bash" not in done.stdout
    whole = invoke("run", "--local", "--show-script", "-P", "n=1,2", "--", "echo", "{n}", "a b").stdout
    assert "#!/bin/bash" in whole
    assert not list(invoke.workspace.iterdir())


def shown_on_terminal(command_line, *words: str) -> tuple[int, str]:
    """Return the exit status of `hpcbench run WORDS`, and what it prints on stderr if this is a terminal."""
    parent, child = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "hpcbench", "-C", str(command_line.workspace), "run", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=child,
    ) as process:
        os.close(child)
        shown = b""
        while True:
            try:
                part = os.read(parent, 4096)
            except OSError:  # the other end has been closed
                break
            shown += part
    os.close(parent)
    return process.returncode, shown.decode()


def test_a_terminal_shows_the_output_of_the_first_run_only(command_line, program) -> None:
    twice = ("--local", "--repetitions", "2", "--set", "measure.retries=0")
    status, shown = shown_on_terminal(command_line, *twice, "--", "python3", "train.py", "7")
    assert status == 0
    assert shown.count("epoch 2 rate=702 samples/s") == 1
    assert "node.pyz" not in shown
    assert [record["status"] for record in command_line.records()] == ["completed"] * 2


def test_a_terminal_shows_the_output_of_a_failed_first_run_before_its_result(command_line) -> None:
    status, shown = shown_on_terminal(command_line, *ONCE, "--", "sh", "-c", "sleep 0.6; echo it broke; exit 3")
    assert status == 1
    assert shown.index("it broke\x1b") < shown.index("1/1 sh run 1: failed") < shown.index("next: hpcbench logs sh-")
    assert "stopped, because" not in shown  # no other run is left
