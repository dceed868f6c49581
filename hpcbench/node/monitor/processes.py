"""Find the processes of a run on this node: those with the mark of their supervisors, and all their descendants."""

import contextlib
import os
import time
from math import inf
from typing import Dict, FrozenSet, List, NamedTuple, Set

from ..host.open_files import Files

MARK = "HPCBENCH_MARK"  # the environment variable; its value is unique to the run
YOUNG_S = 5.0  # maximum time between fork and exec of a process on a busy machine


class _Stranger(NamedTuple):
    """A process that does not seem to belong to the run, and when to check it again."""

    seen_s: float  # first time
    again_s: float

    def looked_at(self, now: float) -> "_Stranger":
        """Return it with the time of the next check, at twice its age: a busy node has many processes."""
        return _Stranger(self.seen_s, 2 * now - self.seen_s if now - self.seen_s < YOUNG_S else inf)


_OLD = _Stranger(-inf, inf)


class OwnProcesses:
    """The processes of one run on this node, updated by each `refresh`."""

    def __init__(self, mark: str, root: str = "/") -> None:
        self._variable = ("%s=%s" % (MARK, mark)).encode()
        self._proc = os.path.join(root, "proc")
        self._files = Files()
        self._strangers: Dict[int, _Stranger] = {}
        self._knows = False
        self._forks = b""
        self._young_until_s = 0.0  # until then, a stranger may turn out to be own
        self.forks = b""  # number of forks of the node, set by the reader of /proc/stat
        self.pids: List[int] = []  # parents before their children
        self.cpus: FrozenSet[int] = frozenset()  # on which they may run

    def close(self) -> None:
        """Close the files of the processes."""
        self._files.close()

    def may_have_changed(self) -> bool:
        """Return whether a process or thread has started since the last search, or was too young then."""
        return self.forks != self._forks or time.monotonic() < self._young_until_s

    def begin(self) -> None:
        """Treat all existing processes as strangers: this run has no processes yet, and its mark is unique."""
        self._strangers = dict.fromkeys(self._listed(), _OLD)
        self._knows = True

    def refresh(self) -> None:
        """Search for processes that have started or ended. An id that is reused between two searches is not noticed."""
        self._forks = self.forks
        present = self._listed()
        there = set(present)
        own = {pid: None for pid in self.pids if pid in there}
        now = time.monotonic()
        first = _Stranger(now, now) if self._knows else _OLD  # those from before the first search are not checked again
        strangers = {}
        for pid in present:
            if pid in own:
                continue
            known = self._strangers.get(pid)
            if known is not None and now < known.again_s:
                strangers[pid] = known
            elif self._is_own(pid, own):
                own[pid] = None
            else:
                strangers[pid] = first if known is None else known.looked_at(now)
                self._young_until_s = max(self._young_until_s, strangers[pid].seen_s + YOUNG_S)
        self._strangers, self._knows = strangers, True
        self.pids = list(own)
        self.cpus = self._allowed()

    def _listed(self) -> List[int]:
        return sorted(int(name) for name in os.listdir(self._proc) if name.isdigit())

    def cgroups(self) -> bytes:
        """Return the current /proc/PID/cgroup of the first process that has one: it may have been moved."""
        contents = (self._files.read(os.path.join(self._proc, str(pid), "cgroup")) for pid in self.pids)
        return next(filter(None, contents), b"")

    def _is_own(self, pid: int, own: Dict[int, None]) -> bool:
        if parent(self._once(pid, "stat")) in own:
            return True
        return self._variable in self._once(pid, "environ").split(b"\0")

    def _once(self, pid: int, name: str) -> bytes:
        path = os.path.join(self._proc, str(pid), name)
        content = self._files.read(path)
        self._files.forget(path)
        return content

    def _allowed(self) -> FrozenSet[int]:
        """Return the CPUs of all threads: each may be bound to a CPU of its own, for example by OMP_PROC_BIND."""
        cpus: Set[int] = set()
        for pid in self.pids:
            with contextlib.suppress(OSError):  # it has just ended
                for thread in os.listdir(os.path.join(self._proc, str(pid), "task")):
                    with contextlib.suppress(OSError):
                        cpus.update(os.sched_getaffinity(int(thread)))
        return frozenset(cpus)


def parent(stat: bytes) -> int:
    """Return the parent's id in a line of /proc/PID/stat; 0 without one. Names may contain blanks and brackets."""
    fields = stat.rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 and fields[1].isdigit() else 0
