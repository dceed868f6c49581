"""Resource use of the run's processes, and how long they waited for a CPU."""

import os
import re
import time
from typing import Dict, Iterator, List, Optional, Tuple

from ...host import cgroups
from ..counters import Counter
from .base import COUNTER, GAUGE, Absent, HostView, Parsed, Values

_MS_PER_TICK = 1000 / os.sysconf("SC_CLK_TCK")
# Places behind the name in /proc/PID/stat (proc_pid_stat(5)).
_FAULTS = (7, 8, 9, 10)  # minflt, cminflt, majflt, cmajflt
_TIMES = (11, 12, 13, 14)  # utime, stime, cutime, cstime: a child that has ended counts with its parent
_RESIDENT = 21
LIST_S = 0.5  # maximum time until a new thread is found; what it has waited since its start counts, too
_SWITCHES = re.compile(rb"ctxt_switches:\s*(\d+)")


class Own(Parsed):
    """CPU time of the job's cgroup if Slurm has made one, otherwise of the process tree."""

    name = "own"
    columns = {
        "own.cpu_ms": COUNTER,
        "own.minor_faults": COUNTER,
        "own.major_faults": COUNTER,
        "own.processes": GAUGE,
        "own.resident_bytes": GAUGE,
    }

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        # The monitor is in the job's cgroup, too. Otherwise it starts before the processes, and counts all of their
        # time.
        lines = host.files.read(host.path("proc/self/cgroup")).decode("utf-8", "replace").splitlines()
        self._usage = _usage_file(lines, host.root)
        self._cpu = Counter(starts_at=None if self._usage else 0.0)
        self._minor, self._major = Counter(starts_at=0.0), Counter(starts_at=0.0)
        self._pids: List[int] = []
        self._paths: Dict[str, None] = {}

    def capture(self) -> Tuple[List[bytes], bytes]:
        read = self.host.files.read
        if self.host.own.pids is not self._pids:  # each search makes another list
            self._pids = self.host.own.pids
            paths = dict.fromkeys(self.host.path("proc", str(pid), "stat") for pid in self._pids)
            for gone in self._paths.keys() - paths.keys():
                self.host.files.forget(gone)
            self._paths = paths
        return [read(path) for path in self._paths], read(self._usage) if self._usage else b""

    def values(self, seen: Tuple[List[bytes], bytes]) -> Values:
        stats, usage = seen
        count = ticks = minor = major = pages = 0
        for stat in stats:
            fields = stat.rpartition(b")")[2].split()
            if len(fields) > _RESIDENT:
                count += 1
                ticks += sum(int(fields[field]) for field in _TIMES)
                minor += int(fields[_FAULTS[0]]) + int(fields[_FAULTS[1]])
                major += int(fields[_FAULTS[2]]) + int(fields[_FAULTS[3]])
                pages += int(fields[_RESIDENT])
        if not count:  # not started, or ended: no values, so that the readings show when it ran
            return [self._cpu.sum, self._minor.sum, self._major.sum, None, None]
        self._cpu.add(_used_ms(self._usage, usage) if self._usage else ticks * _MS_PER_TICK)
        resident = pages * os.sysconf("SC_PAGE_SIZE")
        return [self._cpu.sum, self._minor.add(minor), self._major.add(major), count, resident]


def _used_ms(path: str, content: bytes) -> Optional[float]:
    """Return the CPU time in a file of a cgroup, in milliseconds."""
    if path.endswith("cpu.stat"):
        microseconds = cgroups.values(content).get("usage_usec")
        return None if microseconds is None else microseconds / 1e3
    return int(content) / 1e6 if content else None


class _Threads(Parsed):
    """A file of each thread of the run that has two growing numbers."""

    file = ""

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        self._pids: List[int] = []
        self._paths: List[str] = []
        self._list_at = 0.0
        self._counters: Dict[str, Tuple[Counter, Counter]] = {}

    def capture(self) -> Dict[str, bytes]:
        now = time.monotonic()
        if now >= self._list_at or self.host.own.pids is not self._pids:
            self._list_at, self._pids = now + LIST_S, self.host.own.pids
            paths = ["%s/%s" % (folder, self.file) for folder in thread_folders(self.host)]
            for gone in set(self._paths).difference(paths):
                self.host.files.forget(gone)
            self._paths = paths
        return {path: self.host.files.read(path) for path in self._paths}

    def counted(self, seen: Dict[str, Tuple[int, int]]) -> List[Tuple[float, float]]:
        """Return by how much the numbers of each thread have grown; threads start after the monitor."""
        known = self._counters
        self._counters = {path: known.get(path) or (Counter(starts_at=0.0), Counter(starts_at=0.0)) for path in seen}
        return [
            (counters[0].step(numbers[0]), counters[1].step(numbers[1]))
            for counters, numbers in zip(self._counters.values(), seen.values())
        ]


class Waiting(_Threads):
    """How long the run's threads ran, and how long they were ready to run but had no CPU (sched_info of Linux).

    `worst` adds the wait of the thread that waited longest between two readings: threads that synchronize are as late
    as the slowest of them.
    """

    name = "waiting"
    columns = {
        "own.run_us": COUNTER,
        "own.wait_us": COUNTER,
        "own.worst_wait_us": COUNTER,
        "own.threads": GAUGE,
    }
    file = "schedstat"

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        if host.files.read(host.path("proc/self/schedstat")).split()[:1] in ([], [b"0"]):  # we have run, so it is off
            raise Absent("this kernel does not report how long threads wait (CONFIG_SCHED_INFO, or delayacct is off)")
        self._run_ns = self._wait_ns = self._worst_ns = 0.0

    def values(self, seen: Dict[str, bytes]) -> Values:
        fields = {path: content.split() for path, content in seen.items()}
        grown = self.counted({path: (int(each[0]), int(each[1])) for path, each in fields.items() if len(each) > 1})
        self._run_ns += sum(run for run, _ in grown)
        self._wait_ns += sum(wait for _, wait in grown)
        self._worst_ns += max((wait for _, wait in grown), default=0.0)
        return [*(round(ns / 1000) for ns in (self._run_ns, self._wait_ns, self._worst_ns)), len(grown)]


class Switches(_Threads):
    """Voluntary and involuntary context switches of the run's threads."""

    name = "switches"
    columns = {"own.voluntary_switches": COUNTER, "own.involuntary_switches": COUNTER}
    period_s = 1.0
    file = "status"

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        self._voluntary = self._involuntary = 0.0

    def values(self, seen: Dict[str, bytes]) -> Values:
        found = {path: _SWITCHES.findall(content) for path, content in seen.items()}
        grown = self.counted({path: (int(each[0]), int(each[1])) for path, each in found.items() if len(each) > 1})
        self._voluntary += sum(voluntary for voluntary, _ in grown)
        self._involuntary += sum(involuntary for _, involuntary in grown)
        return [self._voluntary, self._involuntary]


def thread_folders(host: HostView) -> Iterator[str]:
    """Yield the folders of all threads of the run in /proc."""
    for pid in host.own.pids:
        folder = host.path("proc", str(pid), "task")
        try:
            names = os.listdir(folder)
        except OSError:  # it has just ended
            continue
        for name in names:
            yield "%s/%s" % (folder, name)


def _usage_file(lines: List[str], root: str) -> Optional[str]:
    """Return the file with the CPU time of the job's cgroup, in version 1 or 2, or None."""
    for controller, name in (("cpuacct", "cpuacct.usage"), ("", "cpu.stat")):
        folder = cgroups.of_job(lines, controller, root)
        if folder and os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    return None
