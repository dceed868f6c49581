"""The monitors of a job, as its driver talks to them: real ones on this machine, and fakes that misbehave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hpcbench.node.job import monitors as module
from hpcbench.node.job.launcher import monitor_words
from hpcbench.node.job.monitors import Monitors
from hpcbench.node.monitor import timeline
from hpcbench.node.monitor.processes import MARK

pytestmark = pytest.mark.integration

HOG = "print(flush=True)\nwhile True: pass"
WAITING = "print(flush=True); input()"
SEEN_S = 1.0  # in which a monitor has looked several times


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def real(zipapp: Path, tmp_path: Path, said: list[str]) -> Iterator[Monitors]:
    monitors = Monitors(monitor_words(str(zipapp), str(tmp_path / "nodes")), 1, said.append)
    yield monitors
    monitors.close()


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a process that runs `code`, which prints a line when it has begun."""
    started = []

    def start(code: str, mark: str = "") -> subprocess.Popen[str]:
        environment = {**os.environ, MARK: mark}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        process = subprocess.Popen([sys.executable, "-c", code], env=environment, text=True, **pipes)  # type: ignore[call-overload]
        started.append(process)
        process.stdout.readline()
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_one_monitor_writes_a_timeline_for_each_run_of_the_processes_marked_by_its_folder(
    real: Monitors, start: Callable[..., subprocess.Popen[str]], tmp_path: Path, said: list[str]
) -> None:
    for number, processes in ((1, 1), (2, 2)):
        scratch = tmp_path / "running" / f"{number}-{os.getpid()}-0-1"
        real.begin(str(scratch))
        for _ in range(processes):
            start(WAITING, scratch.name)
        time.sleep(SEEN_S)
        real.end()
        (file,) = scratch.iterdir()
        found = timeline.read(str(file))
        assert found is not None
        assert (found.run, found.ended is not None) == (scratch.name, True)
        assert found.values("own.processes", 0.0, float("inf"))[-1] == processes
    assert said == []


def test_at_the_end_the_node_is_described_once(real: Monitors, tmp_path: Path) -> None:
    real.begin(str(tmp_path / "1-2-0-1"))
    real.end()
    assert not (tmp_path / "nodes").exists(), "that would disturb the next run"
    real.close()
    assert list((tmp_path / "nodes").glob("*/*.json"))


def test_a_node_that_is_not_idle_is_named_with_the_reason(
    zipapp: Path, start: Callable[..., subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURMD_NODENAME", "n7")
    start(HOG)
    monitors = Monitors(monitor_words(str(zipapp), ""), 1, print)
    noise = monitors.busy(0.0, gpus=False)
    monitors.close()
    assert noise.startswith("n7: ")
    assert noise.endswith("CPUs are busy")


def test_a_fake_monitor_that_does_not_begin_is_told_and_tried_again_with_the_next_run(
    tmp_path: Path, said: list[str]
) -> None:
    monitors = Monitors(["false"], 1, said.append)
    for _ in range(2):
        monitors.begin(str(tmp_path))
        monitors.end()
    assert said == 2 * ["0 of 1 monitors responded"]
    assert monitors.busy(0.0, gpus=False) == "a node could not be checked"
    monitors.close()


def test_a_fake_monitor_that_does_not_answer_is_killed(
    tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUT_S", 0.2)
    monitors = Monitors([sys.executable, "-c", "import time; time.sleep(600)"], 1, said.append)
    process = monitors._running()
    monitors.begin(str(tmp_path))
    assert process.returncode is not None
    monitors.close()


def test_of_two_nodes_of_which_a_fake_one_is_busy_that_one_is_named(said: list[str]) -> None:
    code = """
import json, sys
for line in sys.stdin:
    number = json.loads(line)["number"]
    print("words of a launcher")
    for host, said in (("n1", "quiet"), ("n2", "busy")):
        print(json.dumps({"number": number, "host": host, "state": said, "reason": "a hog"}), flush=True)
"""
    monitors = Monitors([sys.executable, "-c", code], 2, said.append)
    assert monitors.busy(0.0, gpus=True) == "n2: a hog"
    monitors.close()


def test_where_the_timeline_cannot_be_written_the_run_is_unmonitored_and_the_next_one_is_not(
    real: Monitors, tmp_path: Path, said: list[str]
) -> None:
    (tmp_path / "file").touch()
    real.begin(str(tmp_path / "file" / "1-2-0-1"))
    real.end()
    (told,) = said
    assert "cannot begin: " in told
    assert "Not a directory" in told
    real.begin(str(tmp_path / "2-2-0-1"))
    real.end()
    assert len(said) == 1
    (file,) = (tmp_path / "2-2-0-1").iterdir()
    assert json.loads(file.read_text().splitlines()[-1])["failed"] == {}


def test_a_monitor_holds_no_more_files_open_after_many_runs(real: Monitors, tmp_path: Path) -> None:
    opened = []
    for number in range(4):
        real.begin(str(tmp_path / f"{number}-2-0-1"))
        time.sleep(SEEN_S / 5)
        real.end()
        assert real._process is not None
        opened.append(len(list(Path(f"/proc/{real._process.pid}/fd").iterdir())))
    assert opened[-1] <= opened[0]


def test_a_monitor_that_dies_during_a_run_is_reported(real: Monitors, tmp_path: Path, said: list[str]) -> None:
    real.begin(str(tmp_path / "1-2-0-1"))
    process = real._process
    assert process is not None
    process.kill()
    process.wait()
    real.end()
    assert said == ["the monitor exited early: this run was not monitored to its end"]
    real.begin(str(tmp_path / "2-2-0-1"))
    real.end()
    assert len(said) == 1, "the next run has another one"


def test_a_monitor_that_cannot_be_started_leaves_the_run_unmonitored(tmp_path: Path, said: list[str]) -> None:
    monitors = Monitors([str(tmp_path / "missing")], 1, said.append)
    monitors.begin(str(tmp_path / "1-2-0-1"))
    monitors.end()
    monitors.close()
    assert said == ["0 of 1 monitors responded"]


def test_a_signal_to_end_ends_the_wait_for_an_idle_node() -> None:
    """The fake monitor never answers."""
    code = """
import os, signal, sys, threading, time
from hpcbench.node.job.monitors import Monitors
from hpcbench.node.job.stop import Stop
stop = Stop()
monitors = Monitors([sys.executable, "-c", "import sys; sys.stdin.read()"], 1, print, stop)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
print(repr(monitors.busy(100.0, gpus=False)), stop.requested)
monitors.close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "'' True\n"
