"""Pressure stall information, made up, and that of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hpcbench.node.monitor.sources.base import Absent
from hpcbench.node.monitor.sources.pressure import Pressure


def line(kind: str, total: int) -> str:
    return f"{kind} avg10=1.53 avg60=0.87 avg300=0.20 total={total}"


@pytest.fixture
def node(machine: Any) -> Any:
    machine.write("proc/pressure/cpu", line("some", 1000))  # before Linux 5.13 there was no full for a CPU
    for name in ("memory", "io"):
        machine.write(f"proc/pressure/{name}", f"{line('some', 2000)}\n{line('full', 500)}")
    return machine


def test_totals_count_from_the_first_reading(node: Any) -> None:
    source = Pressure(node.host)
    assert source.read() == [0, 0, 0, 0, 0]
    node.write("proc/pressure/cpu", f"{line('some', 1003)}\n{line('full', 9)}")
    node.write("proc/pressure/memory", f"{line('some', 2040)}\n{line('full', 505)}")
    node.write("proc/pressure/io", f"{line('some', 2600)}\n{line('full', 507)}")
    assert node.values(source) == {
        "pressure.cpu_some_us": 3,
        "pressure.memory_some_us": 40,
        "pressure.memory_full_us": 5,
        "pressure.io_some_us": 600,
        "pressure.io_full_us": 7,
    }


@pytest.mark.parametrize("content", ["", "garbage", "some avg10=0.00 total="])
def test_a_file_that_tells_nothing_for_a_while_loses_nothing(node: Any, content: str) -> None:
    source = Pressure(node.host)
    source.read()
    node.write("proc/pressure/io", content)
    assert node.values(source)["pressure.io_some_us"] == 0
    node.write("proc/pressure/io", line("some", 2010))
    assert node.values(source)["pressure.io_some_us"] == 10


def test_what_was_never_told_is_null(node: Any) -> None:
    node.write("proc/pressure/memory", line("some", 1))
    assert node.values(Pressure(node.host))["pressure.memory_full_us"] is None


def test_a_kernel_without_it_says_so(machine: Any) -> None:
    with pytest.raises(Absent, match=r"No such file or directory: .*proc/pressure/cpu"):
        Pressure(machine.host)


def test_the_real_kernel_is_understood(machine: Any) -> None:
    if not Path("/proc/pressure/cpu").exists():
        pytest.skip("not run: this machine's own pressure; its kernel does not tell it")
    found = [machine.values(Pressure(machine.host._replace(root="/"))) for _ in range(2)]
    assert all(values["pressure.cpu_some_us"] == 0 for values in found)
