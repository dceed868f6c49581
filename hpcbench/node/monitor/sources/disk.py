"""Block devices of the node, and the I/O of the run's processes."""

import os
from typing import Any, Dict, List, Set

from ..counters import Counter
from .base import COUNTER, TWICE_A_SECOND, Absent, HostView, Source, Values

_SECTOR = 512  # bytes, whatever the device's own are (Linux' Documentation/admin-guide/iostats.rst)
_READS, _READ, _WRITES, _WRITTEN, _BUSY_MS = 3, 5, 7, 9, 12  # places in a line of /proc/diskstats
_READ_BYTES, _WRITE_BYTES = 9, 11  # and in /proc/PID/io
_WRAPS_AT = 2.0**32  # the time is kept in 32 bits


class Disk(Source):
    """/proc/diskstats of whole devices that are hardware. A partition, loop, or device mapper counts on its device."""

    name = "disk"
    columns = {
        "disk.read_bytes": COUNTER,
        "disk.written_bytes": COUNTER,
        "disk.operations": COUNTER,
        "disk.busy_ms": COUNTER,  # of the device that was busiest between two readings: processes wait for that one
    }
    period_s = TWICE_A_SECOND

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        self._path = host.readable("proc/diskstats")
        self._devices = {
            name.encode(): (Counter(), Counter(), Counter(), Counter(wraps_at=_WRAPS_AT)) for name in _hardware(host)
        }
        if not self._devices:
            raise Absent("this node has no local disk")
        self._sums = [0.0, 0.0, 0.0, 0.0]

    def read(self) -> Values:
        busiest = 0.0
        for line in self.host.files.read(self._path).splitlines():
            fields = line.split()
            counters = self._devices.get(fields[2])
            if counters:
                read, written, operations, busy = counters
                self._sums[0] += read.step(int(fields[_READ])) * _SECTOR
                self._sums[1] += written.step(int(fields[_WRITTEN])) * _SECTOR
                self._sums[2] += operations.step(int(fields[_READS]) + int(fields[_WRITES]))
                busiest = max(busiest, busy.step(int(fields[_BUSY_MS])))
        self._sums[3] += busiest
        return [*self._sums]

    def facts(self) -> Dict[str, Any]:
        return {"devices": sorted(name.decode() for name in self._devices)}


def _hardware(host: HostView) -> List[str]:
    """Return the hardware devices. Loop, ram and device mapper have no `device`; NVMe multipaths are `hidden`."""
    folder = host.path("sys/block")
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [
        name
        for name in names
        if os.path.exists(os.path.join(folder, name, "device"))
        and host.files.read(os.path.join(folder, name, "hidden")).strip() != b"1"
    ]


class OwnIo(Source):
    """Bytes that the run's processes caused to be read from and written to storage (proc_pid_io(5)).

    A write counts when its page becomes dirty. The device may see it half a minute later (vm.dirty_expire_centisecs).
    """

    name = "own_io"
    columns = {"own.read_bytes": COUNTER, "own.written_bytes": COUNTER}
    period_s = TWICE_A_SECOND

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        if not os.path.exists(host.path("proc/self/io")):
            raise Absent("this kernel does not count the I/O of processes (CONFIG_TASK_IO_ACCOUNTING)")
        self._read, self._written = Counter(starts_at=0.0), Counter(starts_at=0.0)
        self._pids: Set[int] = set()

    def read(self) -> Values:
        own = set(self.host.own.pids)
        for gone in self._pids - own:
            self.host.files.forget(self.host.path("proc", str(gone), "io"))
        self._pids = own
        read = written = seen = 0
        for pid in own:
            path = self.host.path("proc", str(pid), "io")
            fields = self.host.files.read(path).split()
            if len(fields) > _WRITE_BYTES:
                seen += 1
                read += int(fields[_READ_BYTES])
                written += int(fields[_WRITE_BYTES])
            elif os.path.exists(path):  # of another user, or protected: the sum would be too small
                return [None, None]
        if not seen:  # not started, or ended: its last I/O is unknown
            return [None, None]
        # An ended process counts in the parent that waited for it, as in the kernel; otherwise by its last reading.
        return [self._read.add(read), self._written.add(written)]
