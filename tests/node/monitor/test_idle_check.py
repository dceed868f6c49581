"""Whether a node is quiet: the borders, a made-up machine, and a real hog on this one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from hpcbench.node.host.open_files import Files
from hpcbench.node.monitor import idle_check
from hpcbench.node.monitor.processes import OwnProcesses
from hpcbench.node.monitor.sources.base import GAUGE, HostView, Source


@pytest.mark.parametrize(
    ("busy", "count", "stalled", "gpus", "said"),
    [
        (0.0, 4, 0.0, {}, None),
        (0.249, 4, 0.099, {"gpu0": 4.0}, None),
        (0.25, 4, 0.0, {}, "0.2 of 4 CPUs are busy"),
        (3.96, 4, 0.9, {}, "4.0 of 4 CPUs are busy"),
        (0.0, 4, 0.1, {}, "processes wait for a disk 10 % of the time"),
        (1.27, 128, 0.0, {}, None),  # of many CPUs, one in a hundred
        (1.28, 128, 0.0, {}, "1.3 of 128 CPUs are busy"),
        (0.0, 4, 0.0, {"gpu0": 5.0, "gpu1": 0.0, "gpu2": 99.0}, "GPUs are busy: gpu0 5 %, gpu2 99 % of the time"),
    ],
)
def test_what_is_too_much_is_said_in_words(
    busy: float, count: float, stalled: float, gpus: dict[str, float], said: str | None
) -> None:
    assert idle_check.noise(busy, count, stalled, gpus) == said


@pytest.fixture
def node(machine: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Two CPUs and no pressure. `then` is what happens while they are looked at."""

    def busy(ticks: int) -> None:
        cpus = "\n".join(f"cpu{cpu} {ticks} 0 0 0 0 0 0 0 0 0" for cpu in (0, 1))
        machine.write("proc/stat", f"cpu {2 * ticks} 0 0 0\n{cpus}\nintr 1\nprocs_running 1")

    def waited(us: int) -> None:
        for name in ("cpu", "memory", "io"):
            machine.write(f"proc/pressure/{name}", f"some avg10=0.00 avg60=0.00 avg300=0.00 total={us}")

    machine.busy, machine.waited, machine.then = busy, waited, lambda: None
    machine.now = 1000.0
    busy(100)
    waited(7)

    class Clock:
        @staticmethod
        def monotonic() -> float:
            return float(machine.now)

        @staticmethod
        def sleep(seconds: float) -> None:
            machine.now += seconds
            machine.then()

    monkeypatch.setattr(idle_check, "time", Clock)
    machine.pause = Clock.sleep
    return machine


def test_a_made_up_machine_that_stands_still_is_quiet(node: Any) -> None:
    assert idle_check.activity(node.host) is None


def test_work_while_it_is_looked_at_is_told(node: Any) -> None:
    node.then = lambda: node.busy(140)
    assert idle_check.activity(node.host) == "0.8 of 2 CPUs are busy"


def test_work_is_told_as_a_part_of_the_time_that_the_look_took_in_truth(node: Any) -> None:
    """On a busy machine a second lasts longer."""

    def then() -> None:
        node.now += 3.0
        node.busy(140)
        node.waited(7 + 300_000)

    node.then = then
    assert idle_check.activity(node.host) is None


def test_waiting_for_a_disk_is_told(node: Any) -> None:
    node.then = lambda: node.waited(7 + 300_000)
    assert idle_check.activity(node.host) == "processes wait for a disk 30 % of the time"


class MadeUpGpus(Source):
    """Two of them, of which the second works."""

    columns: ClassVar[dict[str, str]] = {"gpu0.utilisation_percent": GAUGE, "gpu1.utilisation_percent": GAUGE}

    def read(self) -> list[float | None]:
        return [None, 37.0]


def test_work_on_made_up_gpus_is_told_to_a_case_that_uses_them(node: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_check, "_OF_GPUS", (MadeUpGpus,))
    assert idle_check.activity(node.host, gpus=True) == "GPUs are busy: gpu1 37 % of the time"
    assert idle_check.activity(node.host) is None


def test_a_kernel_that_does_not_tell_pressure_is_judged_by_its_cpus(node: Any) -> None:
    node.remove("proc/pressure/io")
    assert idle_check.activity(node.host) is None
    node.then = lambda: node.busy(300)
    assert idle_check.activity(node.host) == "4.0 of 2 CPUs are busy"


def test_looks_for_hours_hold_no_more_files_open_than_one(node: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is made up, the counters are those of this machine."""

    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    monkeypatch.setattr(idle_check, "noise", lambda *seen: "noise")
    idle_check.wait(0, gpus=False, pause=node.pause)
    before = opened()
    limit_s = 100 * (idle_check.LOOK_S + idle_check.PAUSE_S)
    assert str(idle_check.wait(limit_s, gpus=False, pause=node.pause)).startswith("noise after")
    assert opened() < before + 10


class Looks:
    """Takes the place of `look`: what is seen, one after another; the clock goes on."""

    def __init__(self, node: Any, monkeypatch: pytest.MonkeyPatch, *seen: str | None) -> None:
        self.seen, self.count, self._node = seen, 0, node
        monkeypatch.setattr(idle_check, "activity", self)

    def __call__(self, host: HostView, gpus: bool) -> str | None:
        self._node.now += idle_check.LOOK_S
        self.count += 1
        return self.seen[min(self.count, len(self.seen)) - 1]


def test_it_waits_until_the_node_is_quiet(node: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Looks(node, monkeypatch, "noise", "noise", None)
    assert idle_check.wait(60, gpus=False, pause=node.pause) is None
    assert looks.count == 3


@pytest.mark.parametrize(
    ("limit_s", "count", "said"),
    [
        (0, 1, "first"),
        (2.9, 1, "first after 1 s of waiting"),
        (4.0, 2, "last after 4 s of waiting"),
        (30, 10, "last after 28 s of waiting"),
    ],
)
def test_it_looks_once_at_least_gives_up_in_time_and_says_when(
    node: Any, monkeypatch: pytest.MonkeyPatch, limit_s: float, count: int, said: str
) -> None:
    looks = Looks(node, monkeypatch, "first", *["last"] * 50)
    assert idle_check.wait(limit_s, gpus=False, pause=node.pause) == said
    assert looks.count == count
    assert node.now - 1000.0 <= max(limit_s, idle_check.LOOK_S)


def test_it_ends_when_nobody_waits_for_the_answer(node: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Looks(node, monkeypatch, "noise")
    assert idle_check.wait(60, gpus=False, pause=lambda seconds: True) == "noise"
    assert looks.count == 1


def test_a_real_hog_on_this_machine_is_noticed() -> None:
    with subprocess.Popen([sys.executable, "-c", "print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE) as hog:
        try:
            assert hog.stdout is not None
            hog.stdout.readline()
            said = idle_check.activity(HostView(OwnProcesses(""), Files()))
        finally:
            hog.kill()
    assert said is not None
    assert said.endswith("CPUs are busy")
