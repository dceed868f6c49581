"""Monitors as they run on a node: real ones, each in a process of its own, on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hpcbench.node.host.open_files import Files
from hpcbench.node.monitor import monitor, timeline
from hpcbench.node.monitor.monitor import _Scheduled, interval_after
from hpcbench.node.monitor.processes import MARK, OwnProcesses
from hpcbench.node.monitor.sources.base import HostView, Source
from hpcbench.node.monitor.timeline import Timeline

pytestmark = pytest.mark.integration

WATCH = """
import sys
from hpcbench.node.monitor.monitor import watch
from hpcbench.node.monitor.protocol import Commands
ready = lambda: print("watching", flush=True)
sys.exit(watch(sys.argv[1], sys.argv[2], Commands(0), ready) or 0)
"""
READY = "\nprint(flush=True)\nsys.stdin.read()"

Process = subprocess.Popen[str]


def unique(mark: str) -> str:
    """Tests of other workers have processes, too."""
    return f"{mark}-of-{os.getpid()}"


class Running:
    """Processes that end with the test at the latest, and what the monitors among them have written."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self._stack = stack

    def monitor(self, mark: str, code: str = WATCH) -> Process:
        """One that has begun, writing into a folder named like its mark."""
        monitor = self._start([sys.executable, "-c", code, str(self.folder / mark), unique(mark)])
        assert line(monitor) == "watching\n"
        return monitor

    def worker(self, mark: str | None, code: str = "") -> Process:
        """A process with a mark that has run `code`, and waits for its standard input to end."""
        process = self._start([sys.executable, "-c", f"import os, sys\n{code}{READY}"], mark)
        line(process)
        return process

    def timeline(self, mark: str) -> Timeline | None:
        (file,) = (self.folder / mark).glob("monitor-*.jsonl")
        return timeline.read(str(file))

    def ended(self, monitor: Process, mark: str) -> Timeline:
        """The whole timeline of a monitor that is told to end."""
        assert monitor.stdin is not None
        monitor.stdin.close()
        assert monitor.wait(timeout=60) == 0
        found = self.timeline(mark)
        assert found is not None
        return found

    def _start(self, words: list[str], mark: str | None = None) -> Process:
        environment = {name: value for name, value in os.environ.items() if name != MARK}
        if mark is not None:
            environment[MARK] = unique(mark)
        process = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process


def line(process: Process) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with ExitStack() as stack:
        yield Running(tmp_path, stack)


def shown(found: Timeline | None, column: str) -> list[float]:
    return found.values(column, 0.0, float("inf")) if found else []


def span(found: Timeline | None, column: str) -> tuple[float, float]:
    return (found and found.span(column)) or (0.0, 0.0)


WaitUntil = Callable[..., None]

CHILD = "if not os.fork(): os.read(0, 1), os._exit(0)"
# A monitor that looks for processes, and writes down what it has seen, sooner than it need.
EAGER = "from hpcbench.node.monitor import monitor as watch\nwatch.WRITE_S, watch.SEARCH_S = 0.1, 0.1\n" + WATCH


def test_a_monitor_sees_a_process_that_is_marked_its_forks_and_nobody_else(
    running: Running, wait_until: WaitUntil
) -> None:
    monitor = running.monitor("m1", EAGER)
    running.worker("other", CHILD)
    running.worker(None, CHILD)
    running.worker("m1", CHILD)
    wait_until(lambda: 2 in shown(running.timeline("m1"), "own.processes"))
    found = running.ended(monitor, "m1")
    assert max(shown(found, "own.processes")) == 2
    assert found.absent.keys().isdisjoint({"cpu", "own"})


def test_processes_that_begin_later_are_found_and_counted_until_they_end(
    running: Running, wait_until: WaitUntil
) -> None:
    monitor = running.monitor("m1", EAGER)
    worker = running.worker("m1", "while os.times().user < 0.1: pass")
    wait_until(lambda: shown(running.timeline("m1"), "own.processes"))
    worker.communicate()

    def since_its_end_s() -> float:
        found = running.timeline("m1")
        return span(found, "cpu.own_busy_ms")[1] - span(found, "own.processes")[1]

    wait_until(lambda: since_its_end_s() > 0.2)
    found = running.ended(monitor, "m1")
    first, last = span(found, "own.processes")
    begun, ended = span(found, "cpu.own_busy_ms")
    assert begun <= first <= last < ended, "how many they are is told only while they are there"
    assert (found.increase("own.cpu_ms", begun, ended) or 0) >= 50, "what it used before it was seen is its own, too"


def test_readings_of_days_are_few_and_those_of_minutes_lie_close_together() -> None:
    assert interval_after(400.0, 0.1, 0.0003) == 0.1
    readings, elapsed_s = 0, 0.0
    while elapsed_s < 7 * 24 * 3600:
        elapsed_s += interval_after(elapsed_s, 0.1, 0.0003)
        readings += 1
    assert readings < 50_000


def test_where_a_tick_costs_much_there_are_fewer() -> None:
    cost_s = 0.002
    assert cost_s / interval_after(10.0, 0.1, cost_s) < 0.005
    assert interval_after(10.0, 0.1, cost_s, most=0.04) == 0.1


class Costly(Source):
    """A source of which each capture takes 1 ms of CPU time."""

    name = "costly"

    def read(self) -> list[float | None]:
        return []


@pytest.mark.parametrize(("share", "apart_s"), [(0.0, 0.286), (0.01, 0.074)])
def test_a_source_with_a_share_of_its_own_is_read_more_often(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, share: float, apart_s: float
) -> None:
    now_s = iter([0.0, 0.002, 1.0, 1.0])  # the average of 0 and 2 ms for the capture, nothing for its values
    monkeypatch.setattr(monitor.time, "thread_time", lambda: next(now_s))
    with ExitStack() as stack:
        own = OwnProcesses("")
        stack.callback(own.close)
        source = Costly(HostView(own, Files(), str(tmp_path)))
        source.share = share
        scheduled = _Scheduled(0, source, 0.1)
        scheduled.update(10.0)
        scheduled.write(timeline.Writer(str(tmp_path / "t.jsonl"), {}))
    scheduled.update(20.0)
    assert scheduled.due - 20.0 == pytest.approx(apart_s, abs=0.001)
    assert scheduled.demand == pytest.approx(max(0.0, 0.01 - share))


def test_monitors_with_different_marks_stand_side_by_side(running: Running, wait_until: WaitUntil) -> None:
    monitors = {mark: running.monitor(mark, EAGER) for mark in ("m1", "m2", "nobody")}
    for mark, code, count in (("m1", "", 1), ("m2", CHILD, 2)):
        running.worker(mark, code)
        wait_until(lambda mark=mark, count=count: count in shown(running.timeline(mark), "own.processes"))
    found = {mark: running.ended(monitor, mark) for mark, monitor in monitors.items()}
    most = {mark: max(shown(each, "own.processes"), default=0) for mark, each in found.items()}
    assert most == {"m1": 1, "m2": 2, "nobody": 0}


def test_it_ends_when_its_standard_input_does_and_its_last_line_says_what_it_cost(running: Running) -> None:
    found = running.ended(running.monitor("m1"), "m1")
    ended = found.ended
    assert ended is not None
    assert ended["failed"] == {}
    assert ended["cpu_s"] > 0
    assert 0 < ended["elapsed_s"] < ended["ended_s"]
    assert ended["ticks"] >= 1


def test_every_source_is_read_a_last_time_when_its_standard_input_ends(running: Running) -> None:
    """Else the energy of the last second would be missing where a source is read each second."""
    found = running.ended(running.monitor("m1"), "m1")
    for column in ("cpu.running", "memory.available_bytes"):  # read at each tick, and each second
        assert len(shown(found, column)) >= 2


def test_words_on_its_standard_input_that_are_no_command_do_not_end_it(running: Running) -> None:
    monitor = running.monitor("m1")
    assert monitor.stdin is not None
    monitor.stdin.write("hello\n")
    monitor.stdin.flush()
    with pytest.raises(subprocess.TimeoutExpired):
        monitor.wait(timeout=0.3)
    assert running.ended(monitor, "m1").ended is not None


def test_it_ends_with_the_script_that_holds_the_pipe_whatever_becomes_of_that(
    running: Running, wait_until: WaitUntil
) -> None:
    code = (
        f"import subprocess, sys\nwords = {[sys.executable, '-c', WATCH, str(running.folder / 'm1'), unique('m1')]}\n"
    )
    code += (
        "monitor = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)\nmonitor.stdout.readline()"
    )
    script = running.worker(None, code)
    assert running.timeline("m1") is not None
    script.kill()

    def has_ended() -> bool:
        found = running.timeline("m1")
        return found is not None and found.ended is not None

    wait_until(has_ended)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_one_that_is_killed_leaves_what_it_has_seen_without_an_end(
    running: Running, wait_until: WaitUntil, number: signal.Signals
) -> None:
    monitor = running.monitor("m1", EAGER)
    running.worker("m1")
    wait_until(lambda: (found := running.timeline("m1")) and found.has("own.processes"))
    monitor.send_signal(number)
    assert monitor.wait() == -number
    found = running.timeline("m1")
    assert found is not None
    assert found.ended is None
    assert set(shown(found, "own.processes")) == {1}


# As where a disk is full: no file may grow beyond so many bytes.
FULL = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))\n"


def test_where_nothing_more_can_be_written_it_ends_with_a_word_and_keeps_what_there_is(running: Running) -> None:
    monitor = running.monitor("m1", FULL + EAGER)
    assert monitor.wait(timeout=60) == 1
    found = running.timeline("m1")
    assert found is not None
    assert found.ended is None
    assert len(shown(found, "cpu.count")) >= 2


BROKEN = """\
from hpcbench.node.monitor import sources
from hpcbench.node.monitor.sources.base import GAUGE, Source
class Breaks(Source):
    name, columns, count = "breaks", {"breaks.count": GAUGE}, 0
    def read(self):
        self.count += 1
        return [self.count] if self.count < 3 else [{}["a sensor"]]
class BreaksLater(Source):
    name, columns = "breaks_later", {"breaks_later.count": GAUGE}
    def read(self):
        return "no number"
    def values(self, seen):
        return [int(seen)]
class Refuses(Source):
    name = "refuses"
    def __init__(self, host):
        raise KeyError("a sensor")
    def read(self):
        return []
sources.ALL = (sources.Cpu, Breaks, BreaksLater, Refuses)
"""


def test_a_fake_source_that_fails_is_told_and_the_others_go_on(running: Running, wait_until: WaitUntil) -> None:
    monitor = running.monitor("m1", BROKEN + EAGER)
    wait_until(lambda: len(shown(running.timeline("m1"), "cpu.count")) > 4)
    found = running.ended(monitor, "m1")
    assert shown(found, "breaks.count") == [1, 2]
    assert found.ended is not None
    assert found.ended["failed"].pop("breaks") == "reading it failed: KeyError('a sensor')"
    assert "ValueError" in found.ended["failed"].pop("breaks_later")
    assert not found.ended["failed"]
    assert found.absent == {"refuses": "the first reading failed: KeyError('a sensor')"}


def test_readings_come_in_the_order_of_time_and_about_as_often_as_asked(running: Running) -> None:
    """How often is a matter of how busy the machine is: never more often, that is certain."""
    code = WATCH.replace("ready))", "ready, 0.05))")
    monitor = running.monitor("m1", code)
    with pytest.raises(subprocess.TimeoutExpired):
        monitor.wait(timeout=0.5)
    found = running.ended(monitor, "m1")
    times = found.around("cpu.count", 0.0, float("inf")).times_s
    assert times == sorted(times)
    assert found.ended is not None
    assert 2 <= len(times) <= found.ended["elapsed_s"] / 0.05 + 2
