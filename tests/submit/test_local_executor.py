"""Runs on this machine: which of them share a driver, and what becomes of one that dies. The driver is a fake."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.submit import local_executor
from hpcbench.submit.local_executor import LocalExecutor

# Notes its number for each element, and does what a file of the element's number says.
DRIVER = """
import json, os, pathlib, socket, sys
connection = socket.socket(fileno=int(sys.argv[2]))
for line in connection.makefile():
    element = json.loads(line)["element"]
    connection.sendall(b"\\n")
    with open("ran", "a") as file:
        print(os.getpid(), element, file=file)
    if pathlib.Path(str(element)).exists():
        exec(pathlib.Path(str(element)).read_text())
    connection.sendall(b"\\n")
with open("ended", "a") as file:
    print(os.getpid(), file=file)
"""


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SweepPaths:
    """A sweep of three jobs with fake drivers."""
    monkeypatch.chdir(tmp_path)
    paths = Workspace(tmp_path).paths("sweep-1")
    paths.jobs.mkdir(parents=True)
    (tmp_path / "driver.py").write_text(DRIVER)
    for job in ("a", "b", "c"):
        paths.script(job).write_text('echo "$@" > arguments\nexec python3 driver.py "$@"\n')
    return paths


def ran() -> list[tuple[str, str]]:
    """The drivers and their elements, in order."""
    lines = Path("ran").read_text().splitlines()
    return [(line.split()[0], line.split()[1]) for line in lines]


def test_the_elements_of_a_job_share_a_driver_which_ends_with_the_sweep(paths: SweepPaths) -> None:
    with LocalExecutor(paths) as executor:
        for element in (3, 1, 2):
            executor.run("a", element, 60)
        assert not Path("ended").exists()
    assert [element for _, element in ran()] == ["3", "1", "2"]
    (driver,) = {driver for driver, _ in ran()}
    assert Path("ended").read_text().split() == [driver]


def test_each_job_has_a_driver_of_its_own_and_those_used_least_recently_end(
    paths: SweepPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_executor, "MAX_DRIVERS", 2)
    with LocalExecutor(paths) as executor:
        for element, job in enumerate("abacab"):
            executor.run(job, element, 60)
        drivers = [driver for driver, _ in ran()]
        assert drivers[0] == drivers[2] == drivers[4]
        assert len(set(drivers)) == 4, "b's first one has ended when c came"
        assert Path("ended").read_text().split() == [drivers[1], drivers[3]]


def test_after_a_driver_that_died_the_next_element_gets_another(paths: SweepPaths) -> None:
    Path("1").write_text("os._exit(3)")
    with LocalExecutor(paths) as executor:
        for element in (0, 1, 2):
            executor.run("a", element, 60)
    drivers = [driver for driver, _ in ran()]
    assert drivers[0] == drivers[1] != drivers[2]


def test_a_driver_that_does_not_end_a_run_at_its_time_limit_is_told_to_end(
    paths: SweepPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_executor, "OWN_END_S", 1.0)
    Path("1").write_text("import signal, time\nsignal.signal(15, lambda *_: os._exit(0))\ntime.sleep(60)")
    with LocalExecutor(paths) as executor:
        assert not executor.run("a", 0, 60)
        began_s = time.monotonic()
        assert executor.run("a", 1, 1)
        assert 2 <= time.monotonic() - began_s < local_executor.STOP_GRACE_S
        assert not executor.run("a", 2, 60)
    drivers = [driver for driver, _ in ran()]
    assert drivers[0] == drivers[1] != drivers[2]


def test_the_set_up_of_a_job_is_ended_after_the_time_limit_of_a_run(paths: SweepPaths) -> None:
    paths.script("a").write_text("echo set up > begun\nsleep 60\n")
    with LocalExecutor(paths) as executor:
        assert executor.run("a", 0, 1)
    assert Path("begun").exists()


def test_a_driver_holds_the_lock_of_the_sweep(paths: SweepPaths) -> None:
    lock = os.open(paths.jobs / ".lock", os.O_RDWR | os.O_CREAT)
    Path("1").write_text(f"assert os.readlink('/proc/self/fd/{lock}').endswith('.lock'); open('held', 'w')")
    with LocalExecutor(paths, lock) as executor:
        executor.run("a", 1, 60)
    os.close(lock)
    assert Path("held").exists()


def test_a_connection_that_something_else_holds_open_is_not_waited_for(paths: SweepPaths) -> None:
    """As a daemon does that a line of the set-up has started."""
    Path("1").write_text("if os.fork(): os._exit(1)\nimport time; time.sleep(5); os._exit(0)")
    with LocalExecutor(paths) as executor:
        began_s = time.monotonic()
        executor.run("a", 1, 60)
        assert time.monotonic() - began_s < 60


def test_what_a_driver_that_died_has_started_is_told_to_end(paths: SweepPaths) -> None:
    code = """
import signal, time
ready, done = os.pipe()
if os.fork():
    os.read(ready, 1)
    os._exit(1)
def end(*_):
    time.sleep(0.2)
    open("told", "w")
    os._exit(0)
signal.signal(15, end)
os.write(done, b"!")
time.sleep(60)
"""
    Path("1").write_text(code)
    with LocalExecutor(paths) as executor:
        executor.run("a", 1, 60)
    assert Path("told").exists()
