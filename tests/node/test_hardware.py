"""What the kernel tells of this very machine, and of machines that tell less."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import pytest

from hpcbench.node import hardware

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@linux
def test_the_processor_is_named_as_in_proc_cpuinfo() -> None:
    assert hardware.cpu_model()
    text = Path("/proc/cpuinfo").read_text()
    assert hardware.cpu_model() in text or hardware.cpu_model() == platform.machine()


@linux
def test_the_memory_is_that_of_proc_meminfo() -> None:
    total = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    assert hardware.memory_bytes() == int(total.split()[1]) * 1024


@linux
def test_the_counter_of_out_of_memory_kills_is_a_number_that_never_falls() -> None:
    before = hardware.oom_kills()
    assert isinstance(before, int)
    assert before >= 0
    assert hardware.oom_kills() >= before


@linux
def test_usable_cpus_are_those_of_the_affinity() -> None:
    allowed = os.sched_getaffinity(0)
    one = min(allowed)
    try:
        os.sched_setaffinity(0, [one])
        assert hardware.usable_cpus() == [one]
    finally:
        os.sched_setaffinity(0, allowed)
    assert hardware.usable_cpus() == sorted(allowed)


def topology(monkeypatch: pytest.MonkeyPatch, siblings: dict[int, str]) -> None:
    """The machine tells these siblings of a CPU, and nothing of the others."""

    def lines(path: str) -> list[str]:
        cpu = int(path.split("/")[5].removeprefix("cpu"))
        return [siblings[cpu]] if cpu in siblings else []

    monkeypatch.setattr(hardware, "_lines", lines)


@pytest.mark.parametrize(
    ("siblings", "cpus", "ordered"),
    [
        ({0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"}, [0, 1, 2, 3], [0, 2, 1, 3]),
        ({0: "0,4", 1: "1,5", 4: "0,4", 5: "1,5"}, [0, 1, 4, 5], [0, 1, 4, 5]),
        ({1: "0-1", 2: "2-3", 3: "2-3"}, [1, 2, 3], [1, 2, 3]),
        ({0: "0-3", 1: "0-3", 2: "0-3", 3: "0-3", 4: "4-7", 5: "4-7"}, [0, 1, 2, 3, 4, 5], [0, 4, 1, 5, 2, 3]),
        ({}, [3, 5, 8], [3, 5, 8]),
    ],
    ids=["neighbours", "far apart", "one is not ours", "four in a core", "unknown"],
)
def test_the_first_cpus_are_of_different_cores(
    monkeypatch: pytest.MonkeyPatch, siblings: dict[int, str], cpus: list[int], ordered: list[int]
) -> None:
    topology(monkeypatch, siblings)
    assert hardware.cores_first(cpus) == ordered


@linux
def test_all_cpus_of_this_machine_are_among_those_ordered_by_core() -> None:
    assert sorted(hardware.cores_first(hardware.usable_cpus())) == hardware.usable_cpus()


@linux
def test_the_loopback_has_an_interface_and_a_foreign_address_none() -> None:
    assert hardware.interface_of("127.0.0.1") == "lo"
    assert hardware.interface_of("192.0.2.1") is None, "an address for documentation (RFC 5737)"


@linux
@pytest.mark.parametrize(
    ("dtype", "flags"),
    [("bfloat16", {"avx512_bf16", "amx_bf16", "bf16"}), ("float16", {"avx512_fp16", "amx_fp16", "asimdhp"})],
)
def test_arithmetic_in_16_bits_is_what_the_flags_say(dtype: str, flags: set[str]) -> None:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    words = next((line.split(":")[1].split() for line in lines if line.lower().startswith(("flags", "features"))), [])
    assert hardware.cpu_computes_in(dtype) == bool(flags & set(words))


X86 = """processor\t: 0
model name\t: Some Xeon: the big one
flags\t\t: fpu avx512_bf16

processor\t: 1
model name\t: another
flags\t\t: fpu avx512_fp16
"""
ARM = """processor\t: 0
Features\t: fp asimd asimdhp bf16
CPU implementer\t: 0x41
"""
PARTIAL = "processor\t: 0\nflags\t\t: fpu f16c avx512f\n"


@pytest.mark.parametrize(
    ("cpuinfo", "model", "bfloat16", "float16"),
    [
        (X86, "Some Xeon: the big one", True, False),
        (ARM, platform.machine(), True, True),
        (PARTIAL, platform.machine(), False, False),
        ("", platform.machine(), False, False),
    ],
    ids=["x86", "arm", "conversion only", "nothing to read"],
)
def test_cpuinfo_of_other_machines(
    monkeypatch: pytest.MonkeyPatch, cpuinfo: str, model: str, bfloat16: bool, float16: bool
) -> None:
    monkeypatch.setattr(hardware, "_lines", lambda path: cpuinfo.splitlines())
    assert hardware.cpu_model() == model
    assert hardware.cpu_computes_in("bfloat16") == bfloat16
    assert hardware.cpu_computes_in("float16") == float16


def test_a_kernel_without_the_counter_gives_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"/proc/vmstat": ["nr_free_pages 12", "oom_killer_disabled 1"], "/proc/self/cgroup": ["0::/"]}
    monkeypatch.setattr(hardware, "_lines", lambda path: files.get(path, []))
    assert hardware.oom_kills() is None


@pytest.mark.parametrize(
    ("membership", "file", "lines"),
    [
        ("0::/slurm/job_7", "/sys/fs/cgroup/slurm/job_7/memory.events", ["oom 3", "oom_kill 2"]),
        ("4:memory:/job_7", "/sys/fs/cgroup/memory/job_7/memory.oom_control", ["under_oom 0", "oom_kill 2"]),
        ("3:cpuset:/job_7", "/proc/vmstat", ["oom_kill 2"]),
    ],
    ids=["cgroup v2", "cgroup v1", "neither"],
)
def test_the_kills_of_our_own_cgroup_count_and_not_those_of_a_neighbour(
    monkeypatch: pytest.MonkeyPatch, membership: str, file: str, lines: list[str]
) -> None:
    files = {"/proc/vmstat": ["oom_kill 99"], "/proc/self/cgroup": [membership], file: lines}
    monkeypatch.setattr(hardware, "_lines", lambda path: files.get(path, []))
    assert hardware.oom_kills() == 2


def test_the_node_is_described_for_the_record() -> None:
    node = hardware.describe()
    assert node["hostname"] == platform.node()
    assert node["cpu_count"] == os.cpu_count()
    assert node["cpu_model"] == hardware.cpu_model()
