from __future__ import annotations

import subprocess
import sys
import time

import pytest

from hpcbench.core.check_result import NOTE, OK, WARNING
from hpcbench.node.checks import load
from hpcbench.node.checks.load import Snapshot
from hpcbench.node.host.proc_stat import TICKS_PER_S
from hpcbench.node.host.sysfs import this_system

SECONDS = 2.0
IDLE = Snapshot({0: 10.0, 1: 10.0, 2: 10.0, 3: 10.0}, {7: 5.0, 8: 1.0})


def judged(
    lay,
    cpus: dict[int, float],
    processes: dict[int, float] | None = None,
    usable: list[int] | None = None,
    ours: float = 0.0,
):
    """What is found where these seconds were used by CPUs and processes since `IDLE`."""
    after = Snapshot(
        {cpu: before + cpus.get(cpu, 0.0) for cpu, before in IDLE.cpus.items()},
        {pid: before + (processes or {}).get(pid, 0.0) for pid, before in IDLE.processes.items()},
    )
    files = {"proc/7/comm": "hog\x1b[31m\n", "proc/8/comm": "daemon\n"}
    return load.judge(lay(files, usable or [0, 1]), IDLE, after, SECONDS, ours)


def test_a_quiet_machine_is_ok(lay) -> None:
    finding = judged(lay, {0: 0.4, 3: 0.2})
    assert (finding.level, finding.found) == (OK, "0.20 of 2 usable CPUs busy, 0.10 of the other 2")


def test_work_on_the_usable_cpus_disturbs(lay) -> None:
    finding = judged(lay, {0: 2.0}, {7: 1.8, 8: 0.02})
    assert finding.level == WARNING
    assert "1.00 of 2 usable CPUs busy, 0.00 of the other 2: hog" in finding.found
    assert finding.found.endswith("0.90")
    assert finding.numbers == {"busy_own_cpus": 1.0, "busy_other_cpus": 0.0}


def test_work_beside_the_usable_cpus_is_a_note(lay) -> None:
    finding = judged(lay, {2: 2.0, 3: 2.0})
    assert finding.level == NOTE
    assert finding.found.endswith("2.00 of the other 2; processes unknown")


def test_what_this_process_used_itself_is_not_other_work(lay) -> None:
    finding = judged(lay, {0: 2.0, 1: 2.0}, ours=1.9)
    assert (finding.level, finding.found) == (
        OK,
        "0.10 of 2 usable CPUs busy with background load, 0.00 of the other 2",
    )
    assert judged(lay, {0: 2.0, 1: 2.0}, ours=1.0).level == WARNING
    assert judged(lay, {}, ours=1.0).numbers["busy_own_cpus"] == 0.0, "clock ticks are coarse"


def test_a_machine_without_other_cpus_names_none(lay) -> None:
    finding = judged(lay, {0: 0.08}, usable=[0, 1, 2, 3])
    assert (finding.level, finding.found) == (OK, "0.04 of 4 usable CPUs busy")


def test_the_name_of_a_process_cannot_speak_to_the_terminal(lay) -> None:
    assert "\x1b" not in judged(lay, {0: 2.0}, {7: 2.0}).found


def test_the_seconds_of_cpus_and_processes_are_read_as_proc_writes_them(lay) -> None:
    """user nice system idle iowait irq softirq steal guest, in ticks; idle and iowait are no work."""
    stat = "cpu  9 9 9 9\ncpu0 100 200 300 9999 8888 50 25 25 7 0\ncpu1 0 0 0 5 0 0 0 0 0 0\nintr 1 2\n"
    process = "42 (odd) name) S 1 1 1 0 -1 0 0 0 0 0 30 20 0 0 20 0 1 0"
    found = load.snapshot(lay({"proc/stat": stat, "proc/42/stat": process}))
    assert found == Snapshot({0: 700 / TICKS_PER_S, 1: 0.0}, {42: 50 / TICKS_PER_S})


@pytest.mark.parametrize(
    ("memory", "io", "level", "words"),
    [
        ("0.00", "0.50", None, []),
        ("0.00", "2.00", NOTE, ["io 2 %"]),
        ("12.00", "3.10", WARNING, ["memory 12 %", "io 3 %"]),
        ("0.00", "99.00", WARNING, ["io 99 %"]),
    ],
)
def test_work_that_is_held_up_is_told(lay, memory: str, io: str, level: str | None, words: list[str]) -> None:
    files = {f"proc/pressure/{kind}": f"some avg10={value} avg60=0.00 avg300=0.00 total=5\nfull avg10=0.00\n"
             for kind, value in (("memory", memory), ("io", io))}  # fmt: skip
    found = load._waiting(lay(files))
    assert [finding.level for finding in found] == ([level] if level else [])
    assert all(word in found[0].found for word in words)


@pytest.mark.integration
def test_a_program_that_computes_on_this_machine_is_found_and_named() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as hog:
        try:
            time.sleep(0.3)
            finding = load.check(this_system())[0]
        finally:
            hog.kill()
    assert finding.level == WARNING
    assert " of " in finding.found.partition(": ")[2]
