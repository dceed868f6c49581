"""What the repetition's processes have used, and how long they had to wait for a CPU."""

import os
import re
from typing import Dict, Iterator, List, Optional, Tuple

from .. import cgroups
from ..counters import Counter
from .base import COUNTER, GAUGE, Absent, Place, Source, Values

_MS_PER_TICK = 1000 / os.sysconf("SC_CLK_TCK")
# Places behind the name in /proc/PID/stat (proc_pid_stat(5)).
_FAULTS = (7, 8, 9, 10)  # minflt, cminflt, majflt, cmajflt
_TIMES = (11, 12, 13, 14)  # utime, stime, cutime, cstime: a child that has ended counts with its parent
_RESIDENT = 21
_SWITCHES = re.compile(rb"ctxt_switches:\s*(\d+)")


class Own(Source):
    """CPU time of the job's control group where Slurm has made one, else of the process tree."""

    name = "own"
    columns = {
        "own.cpu_ms": COUNTER,
        "own.minor_faults": COUNTER,
        "own.major_faults": COUNTER,
        "own.processes": GAUGE,
        "own.resident_bytes": GAUGE,
    }

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        # The monitor is in the job's control group, too. Else it comes before the processes, and sees all of each.
        lines = place.files.read(place.path("proc/self/cgroup")).decode("utf-8", "replace").splitlines()
        self._usage = _usage_file(lines, place.root)
        self._cpu = Counter(starts_at=None if self._usage else 0.0)
        self._minor, self._major = Counter(starts_at=0.0), Counter(starts_at=0.0)
        self._pids: List[int] = []
        self._paths: Dict[str, None] = {}

    def read(self) -> Values:
        if self.place.own.pids is not self._pids:  # each look for processes makes another list
            self._pids = self.place.own.pids
            paths = dict.fromkeys(self.place.path("proc", str(pid), "stat") for pid in self._pids)
            for gone in self._paths.keys() - paths.keys():
                self.place.files.forget(gone)
            self._paths = paths
        seen = ticks = minor = major = pages = 0
        for path in self._paths:
            fields = self.place.files.read(path).rpartition(b")")[2].split()
            if len(fields) > _RESIDENT:
                seen += 1
                ticks += sum(int(fields[place]) for place in _TIMES)
                minor += int(fields[_FAULTS[0]]) + int(fields[_FAULTS[1]])
                major += int(fields[_FAULTS[2]]) + int(fields[_FAULTS[3]])
                pages += int(fields[_RESIDENT])
        if not seen:  # not begun, or ended: the first number of processes and the last say when it was seen
            return [self._cpu.sum, self._minor.sum, self._major.sum, None, None]
        self._cpu.add(self._used_ms(self._usage) if self._usage else ticks * _MS_PER_TICK)
        resident = pages * os.sysconf("SC_PAGE_SIZE")
        return [self._cpu.sum, self._minor.add(minor), self._major.add(major), seen, resident]

    def _used_ms(self, path: str) -> Optional[float]:
        content = self.place.files.read(path)
        if path.endswith("cpu.stat"):
            microseconds = cgroups.values(content).get("usage_usec")
            return None if microseconds is None else microseconds / 1e3
        return int(content) / 1e6 if content else None


class Waiting(Source):
    """How long the repetition's threads ran, and how long each could have run but had no CPU (sched_info of Linux).

    `worst` adds up the wait of whichever thread waited longest between two readings: threads that work in step are as
    late as the last of them.
    """

    name = "waiting"
    columns = {
        "own.run_us": COUNTER,
        "own.wait_us": COUNTER,
        "own.worst_wait_us": COUNTER,
        "own.threads": GAUGE,
    }

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        if place.files.read(place.path("proc/self/schedstat")).split()[:1] in ([], [b"0"]):  # we have run, so it is off
            raise Absent("this kernel does not say how long threads wait (CONFIG_SCHED_INFO, or delayacct is off)")
        self._threads: Dict[str, Tuple[Counter, Counter]] = {}
        self._run_ns = self._wait_ns = self._worst_ns = 0.0

    def read(self) -> Values:
        threads = {}
        worst = 0.0
        for folder in thread_folders(self.place):
            fields = self.place.files.read(folder + "/schedstat").split()
            if len(fields) < 2:
                continue
            run, wait = threads[folder] = self._threads.get(folder) or _from_its_start()
            self._run_ns += run.step(int(fields[0]))
            waited = wait.step(int(fields[1]))
            self._wait_ns += waited
            worst = max(worst, waited)
        for gone in self._threads.keys() - threads.keys():
            self.place.files.forget(gone + "/schedstat")
        self._threads = threads
        self._worst_ns += worst
        return [*(round(ns / 1000) for ns in (self._run_ns, self._wait_ns, self._worst_ns)), len(threads)]


class Switches(Source):
    """How often the repetition's threads gave up their CPU, and how often it was taken from them."""

    name = "switches"
    columns = {"own.voluntary_switches": COUNTER, "own.involuntary_switches": COUNTER}
    period_s = 1.0

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._threads: Dict[str, Tuple[Counter, Counter]] = {}
        self._sums = [0.0, 0.0]

    def read(self) -> Values:
        threads = {}
        for folder in thread_folders(self.place):
            found = _SWITCHES.findall(self.place.files.read(folder + "/status"))
            if len(found) < 2:
                continue
            counters = threads[folder] = self._threads.get(folder) or _from_its_start()
            for place, (counter, count) in enumerate(zip(counters, found)):
                self._sums[place] += counter.step(int(count))
        for gone in self._threads.keys() - threads.keys():
            self.place.files.forget(gone + "/status")
        self._threads = threads
        return [*self._sums]


def _from_its_start() -> Tuple[Counter, Counter]:
    """Two counters of a thread that is younger than the monitor."""
    return Counter(starts_at=0.0), Counter(starts_at=0.0)


def thread_folders(place: Place) -> Iterator[str]:
    """Those of all threads of the repetition, in /proc."""
    for pid in place.own.pids:
        folder = place.path("proc", str(pid), "task")
        try:
            names = os.listdir(folder)
        except OSError:  # it has just ended
            continue
        for name in names:
            yield "%s/%s" % (folder, name)


def _usage_file(lines: List[str], root: str) -> Optional[str]:
    """The file that counts the CPU time of the job's control group, in version 1 or 2."""
    for controller, name in (("cpuacct", "cpuacct.usage"), ("", "cpu.stat")):
        folder = cgroups.of_job(lines, controller, root)
        if folder and os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    return None
