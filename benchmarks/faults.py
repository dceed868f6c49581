"""A measured run on one CPU with the monitor beside it, and faults that are let loose in the midst of it.

Everything is real: the sampling, the monitor in its own process, the hogs, the quota of a control group.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from hpcbench.node.host import hostname
from hpcbench.node.host.proc_stat import TICKS_PER_S, cpu_times
from hpcbench.node.monitor.processes import MARK
from hpcbench.node.monitor.protocol import BEGIN, WATCHING
from hpcbench.node.results import monitor_summary
from hpcbench.submit.zipapp import node_zipapp

DELAY_S = 0.5  # of the samples, before a fault begins

# What is measured: a step of arithmetic, one that streams through memory, one that writes to a disk.
WORKLOADS = {
    "compute": "import numpy; a = numpy.random.rand(640, 640); step = lambda: a @ a",
    "memory": "import numpy; a = numpy.zeros(8_000_000); b = a.copy(); step = lambda: numpy.copyto(a, b)",
    "io": """
import os
file = os.open("steps", os.O_CREAT | os.O_WRONLY)
block = os.urandom(1 << 18)
def step():
    os.pwrite(file, block, 0)
    os.fsync(file)
""",
}
_WORKER = """
import json, os, sys
os.sched_setaffinity(0, [int(sys.argv[1])])
{workload}
from hpcbench.core.typed_json import to_json
from hpcbench.node.measurement.timing import measure
from hpcbench.node.measurement.stopping_rules import Settings
settings = Settings(1e-9, 10, float(sys.argv[2]), float(sys.argv[2]), 0.5)
step()
print("measuring", flush=True)
print(json.dumps(to_json(measure(step, lambda: None, settings))))
"""

_HOGS = {
    "cpu": "while True: pass",
    "memory": "import numpy; a = numpy.zeros(8_000_000); b = a.copy()\nwhile True: numpy.copyto(a, b)",
    "io": """
file = os.open("hog", os.O_CREAT | os.O_WRONLY)
block = os.urandom(1 << 24)
while True:
    os.pwrite(file, block, 0)
    os.fsync(file)
""",
}
QUOTA = 0.2  # of its CPU: less than a busy machine leaves it
_ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}


class Cost(NamedTuple):
    """What the monitor took of one core, and how often it read."""

    core: float
    ticks_per_s: float


@dataclass(frozen=True)
class Outcome:
    """One run: the median time of a step, and what was said of it."""

    time_s: float
    verdict: str
    causes: frozenset[str]
    reason: str | None  # why nothing can be said
    stolen: float  # the part of its CPU that the hypervisor gave to others, as the kernel counts it
    monitor: Cost | None  # unless it was killed


class Victims(NamedTuple):
    """Whom a fault may do harm to."""

    worker: int
    monitor: int
    folder: Path


Fault = Callable[[Victims], AbstractContextManager[None]]


def no_fault(victims: Victims) -> AbstractContextManager[None]:
    return nullcontext()


def no_monitor(victims: Victims) -> AbstractContextManager[None]:
    os.kill(victims.monitor, signal.SIGKILL)
    return nullcontext()


def hog(kind: str, cpu: int) -> Fault:
    """Somebody else's process on a CPU."""

    @contextmanager
    def running(victims: Victims) -> Iterator[None]:
        code = f"import os\nos.sched_setaffinity(0, [{cpu}])\n{_HOGS[kind]}"
        process = subprocess.Popen([sys.executable, "-c", code], cwd=victims.folder, env=_ONE_THREAD)
        try:
            yield
        finally:
            process.kill()
            process.wait()

    return running


@contextmanager
def quota(victims: Victims) -> Iterator[None]:
    """A control group that gives the process a part of a CPU. Needs root."""
    group = _cpu_groups() / f"hpcbench-fault-{victims.worker}"
    group.mkdir()
    try:
        if (group / "cpu.max").exists():
            (group / "cpu.max").write_text(f"{int(QUOTA * 100_000)} 100000")
        else:
            (group / "cpu.cfs_quota_us").write_text(str(int(QUOTA * 100_000)))
        (group / "cgroup.procs").write_text(str(victims.worker))
        yield
    finally:
        _leave(group)


def _leave(group: Path) -> None:
    """Whoever is in it goes one up; a process that has ended may be listed for a moment."""
    for _ in range(100):
        try:
            for each in (group / "cgroup.procs").read_text().split():
                (group.parent / "cgroup.procs").write_text(each)
            group.rmdir()
            return
        except OSError:
            time.sleep(0.05)


def _cpu_groups() -> Path:
    """Where control groups for CPUs are made, in version 1 or 2."""
    first = Path("/sys/fs/cgroup/cpu")
    return first if first.is_dir() else Path("/sys/fs/cgroup")


def can_set_a_quota() -> bool:
    groups = _cpu_groups()
    controllers = groups / "cgroup.subtree_control"  # of version 2
    has_cpu = "cpu" in controllers.read_text().split() if controllers.exists() else True
    return has_cpu and os.access(groups, os.W_OK)


def run(workload: str, cpu: int, fault: Fault, seconds: float) -> Outcome:
    """Measure a step for so long, and let `fault` loose a moment after the samples have begun."""
    with tempfile.TemporaryDirectory(prefix="hpcbench-fault-", dir=Path.cwd()) as name:
        folder = Path(name)
        scratch = folder / folder.name  # a mark of its own
        (folder / "node.pyz").write_bytes(node_zipapp())
        monitor = _start([str(folder / "node.pyz"), "monitor"], folder, {})
        _tell(monitor, {"do": BEGIN, "number": 1, "folder": str(scratch)})
        _said(monitor, WATCHING)
        code = _WORKER.format(workload=WORKLOADS[workload])
        mark = {MARK: scratch.name, "OMP_NUM_THREADS": "1"}
        worker = _start(["-c", code, str(cpu), str(seconds)], folder, mark)
        try:
            _said(worker, "measuring")
            began_s, stolen_s = time.monotonic(), _stolen_s(cpu)
            time.sleep(0.5 + DELAY_S)  # its warm-up
            with fault(Victims(worker.pid, monitor.pid, folder)):
                samples: dict[str, Any] = json.loads(_line(worker))
            stolen = (_stolen_s(cpu) - stolen_s) / (time.monotonic() - began_s)
            worker.wait()
        finally:
            worker.kill()
            monitor.communicate(timeout=30)
        ranks = [{"host": hostname.name(os.environ), "facts": {"measurements": samples}}]
        found, nodes, _ = monitor_summary.of_run(ranks, str(scratch), on_gpus=False)
    assert found is not None
    ended = nodes[0].monitor
    cost = Cost(ended["cpu_s"] / ended["elapsed_s"], ended["ticks"] / ended["elapsed_s"]) if ended else None
    causes = frozenset(cause for each in found.found for cause in each.causes)
    return Outcome(median(samples["times_s"]), found.verdict, causes, found.reason, stolen, cost)


def _stolen_s(cpu: int) -> float:
    (times,) = [times for times in cpu_times(Path("/proc/stat").read_bytes()) if times.cpu == cpu]
    return times.steal / TICKS_PER_S


def _start(words: list[str], folder: Path, variables: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def _said(process: subprocess.Popen[str], word: str) -> None:
    line = _line(process)
    if word not in line:
        raise RuntimeError(f"it said {line!r}, not {word!r}")


def _tell(process: subprocess.Popen[str], command: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(command) + "\n")
    process.stdin.flush()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()
