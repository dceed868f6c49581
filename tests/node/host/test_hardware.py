"""What the kernel tells of this very machine, and of machines that tell less."""

from __future__ import annotations

import contextlib
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcbench.node.host import cpuinfo, hardware

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@linux
def test_the_memory_is_that_of_proc_meminfo() -> None:
    total = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    assert hardware.memory_bytes() == int(total.split()[1]) * 1024


PEAK = "from hpcbench.node.host.hardware import peak_resident_bytes; print(peak_resident_bytes())"


@pytest.mark.integration
@linux
@pytest.mark.parametrize(
    ("afterwards", "is_large"),
    [
        pytest.param(PEAK, True, id="given back"),
        pytest.param(
            f"from hpcbench.node.host.hardware import reset_peak_resident as reset; reset(); {PEAK}", False, id="reset"
        ),
        pytest.param(f"import os, sys; os.execv(sys.executable, ['python', '-c', {PEAK!r}])", False, id="exec"),
    ],
)
def test_the_peak_of_memory_is_of_this_program_alone(afterwards: str, is_large: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"len(bytearray(2**28)); {afterwards}"], capture_output=True, text=True, check=True
    )
    assert (int(done.stdout) >= 2**28) is is_large


def test_where_the_kernel_tells_no_peak_the_libc_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "_lines", lambda path: ["Name:\tpython", "VmRSS:\t12 kB"])
    assert hardware.peak_resident_bytes() == resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@linux
def test_the_counter_of_out_of_memory_kills_is_a_number_that_never_falls() -> None:
    before = hardware.oom_kills().machine
    after = hardware.oom_kills().machine
    assert before is not None
    assert after is not None
    assert 0 <= before <= after


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


@linux
def test_the_loopback_has_an_interface_and_a_foreign_address_none() -> None:
    assert hardware.interface_of("127.0.0.1") == "lo"
    assert hardware.interface_of("192.0.2.1") is None, "an address for documentation (RFC 5737)"


COUNTED = "low 0\noom 3\noom_kill 2\noom_group_kill 1\n"
COUNTED_1 = "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"
STEP = "system.slice/slurmstepd.scope/job_7/step_0"


@pytest.mark.parametrize(
    ("membership", "files", "own"),
    [
        ("0::/slurm/x", {"slurm/x/memory.events": COUNTED}, 2),
        ("0::/", {"memory.events": COUNTED}, 2),
        (
            f"0::/{STEP}/user/task_0",
            {f"{STEP}/user/task_0/memory.events": COUNTED, f"{STEP}/memory.events": "oom_kill 9"},
            2,
        ),
        (f"0::/{STEP}/user/task_0", {f"{STEP}/user/task_0/cgroup.events": "", f"{STEP}/memory.events": COUNTED}, 2),
        ("0::/user.slice/a", {"user.slice/a/cgroup.events": "", "user.slice/memory.events": COUNTED}, None),
        ("0::/gone/away", {"gone/memory.events": COUNTED}, None),
        ("0::/../outside", {"memory.events": COUNTED}, None),
        ("4:memory:/slurm/job_7/step_0", {"memory/slurm/job_7/step_0/memory.oom_control": COUNTED_1}, 2),
        (
            "4:memory:/slurm/job_7/step_0",
            {
                "memory/slurm/job_7/step_0/memory.oom_control": "under_oom 0",
                "memory/slurm/job_7/memory.oom_control": COUNTED_1,
            },
            None,
        ),
        ("4:memory:/", {"memory/memory.oom_control": COUNTED_1}, None),
        ("4:memory:/docker/abc", {"memory/memory.oom_control": COUNTED_1}, None),
        ("3:cpuset:/job_7", {}, None),
    ],
    ids=[
        *(
            "v2",
            "v2, a container's own",
            "v2, the task before its step",
            "v2, a step whose tasks are not counted apart",
        ),
        *("v2, a slice of many users", "v2, a group that is not shown", "v2, a group outside of what is shown"),
        *("v1", "v1, before Linux 4.13", "v1, the group of everybody", "v1, a group that is not shown", "no group"),
    ],
)
def test_kills_are_our_own_where_the_group_that_counts_them_holds_no_neighbour(
    tmp_path: Path, membership: str, files: dict[str, str], own: int | None
) -> None:
    """Of a machine of files: the laid out folders are those of cgroups(7) and of Slurm."""
    content = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    content.update({"proc/self/cgroup": membership + "\n", "proc/vmstat": "nr_free_pages 12\noom_kill 99\n"})
    for name, text in content.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert hardware.oom_kills(str(tmp_path)) == (own, 99)


def test_a_kernel_without_the_counter_gives_no_number(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "vmstat").write_text("nr_free_pages 12\noom_killer_disabled 1\n")
    assert hardware.oom_kills(str(tmp_path)) == (None, None)


IN_GROUP = """
import os, subprocess, sys
sys.path.insert(0, sys.argv[1])
from hpcbench_carried.node.host import hardware
open(sys.argv[2] + "/cgroup.procs", "w").write(str(os.getpid()))
before = hardware.oom_kills()
died = subprocess.run([sys.executable, "-c", "len(bytearray(10**9))"]).returncode
print(died, hardware.oom_kills().own - before.own)
"""


@pytest.fixture
def small_group() -> Iterator[Path]:
    """A real cgroup with room for 64 MB."""
    version_1 = Path("/sys/fs/cgroup/memory")
    parent, limit = (version_1, "limit_in_bytes") if version_1.is_dir() else (version_1.parent, "max")
    group = parent / f"hpcbench-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / f"memory.{limit}").write_text(str(64 * 2**20))
        swap = group / ("memory.memsw.limit_in_bytes" if limit != "max" else "memory.swap.max")
        if swap.exists():
            swap.write_text(str(64 * 2**20) if limit != "max" else "0")
    except OSError as error:
        with contextlib.suppress(OSError):
            group.rmdir()
        pytest.skip(f"no cgroup can be made here ({error}); not run: a real kill for memory")
    yield group
    group.rmdir()


def test_a_real_kill_for_memory_is_counted_as_our_own(small_group: Path, zipapp: Path) -> None:
    words = [sys.executable, "-c", IN_GROUP, str(zipapp), str(small_group)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["-9", "1"]


def test_the_node_is_described_for_the_record() -> None:
    node = hardware.describe()
    assert node["hostname"] == platform.node()
    assert node["cpu_count"] == os.cpu_count()
    assert node["cpu_model"] == cpuinfo.model()
