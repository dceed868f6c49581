"""Count the bytes through the ports of the nodes of a run: communication that bypasses TCP, such as NCCL's.

A port counts the bytes of everything that runs on its node. The count belongs to the run if the job has its nodes
exclusively and each rank has a node. The rate of other traffic, such as that of the node's services, is measured while
the ranks do nothing, and subtracted.
"""

import time
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..host.open_files import Files
from ..host.tcp_sockets import Traffic
from ..launch.rendezvous import Group
from ..monitor.processes import OwnProcesses
from ..monitor.sources.base import Absent, HostView, Source
from ..monitor.sources.infiniband import InfiniBand
from ..monitor.sources.network import Network

BACKGROUND_S = 1.0  # time in which other traffic is measured


class Counts(NamedTuple):
    """The cumulative bytes of one kind of port at a time of the monotonic clock, in seconds."""

    time_s: float
    sent: float
    received: float


Readings = Dict[str, Counts]  # by kind of port


class PortCounters:
    """Counters of the ports of this rank's node. All ranks create it and call its methods, in the same order."""

    def __init__(self, group: Group, owns_nodes: bool, root: str = "/") -> None:
        """Measure the background for a second. The ranks must not communicate; this waits until all of them are here.

        `owns_nodes` says that the job shares its nodes with no other job and no other run. `root` is the folder of
        /sys. If the bytes of the run cannot be counted, `missing` has the reason, the same on all ranks.
        """
        self.group = group
        self.missing = _missing(group, owns_nodes)
        self._sources: Dict[str, Source] = {}
        self._rates: Dict[str, Tuple[float, float]] = {}  # of the background, sent and received, in bytes per second
        self._start: Readings = {}
        if self.missing is None:
            self._open(root)
        if self.missing is None:
            before = self._read()
            time.sleep(BACKGROUND_S)
            after = self._read()
            self._rates = {kind: _rates(before[kind], after[kind]) for kind in before}
            group.gather(None)  # no rank has begun to communicate

    def begin(self) -> None:
        """Start to count."""
        self._start = self._read()

    def end(self) -> Dict[str, Traffic]:
        """Return the bytes since `begin`, without the background, by kind of port. They are at least 0."""
        found = {}
        for kind, now in self._read().items():
            start, rates = self._start[kind], self._rates[kind]
            elapsed_s = now.time_s - start.time_s
            sent, received = now.sent - start.sent, now.received - start.received
            found[kind] = Traffic(
                *(max(0, round(all_ - rate * elapsed_s)) for all_, rate in zip((sent, received), rates))
            )
        return found

    def _open(self, root: str) -> None:
        """Find the kinds of ports that all nodes have."""
        host, absent = HostView(OwnProcesses("", root), Files(), root), []
        for kind in (Network, InfiniBand):
            try:
                self._sources[kind.name] = kind(host)
            except Absent as error:
                absent.append(str(error))
        found = self.group.gather((sorted(self._sources), "; ".join(absent)))
        common = [kind for kind in self._sources if all(kind in kinds for kinds, _ in found)]
        self._sources = {kind: self._sources[kind] for kind in common}
        if not common:
            self.missing = min(found, key=lambda each: len(each[0]))[1]

    def _read(self) -> Readings:
        found = {}
        for kind, source in self._sources.items():
            received, sent = source.read()[:2]
            found[kind] = Counts(time.monotonic(), sent or 0.0, received or 0.0)
        return found


def busiest(every: Sequence[Dict[str, Traffic]]) -> List[Traffic]:
    """Return the bytes of each rank through the kind of port with the most bytes.

    Kinds are not added up: InfiniBand's ports also count the bytes of network interfaces on top of them (IPoIB).
    """
    kinds = [[ports[kind] for ports in every] for kind in every[0]]
    return max(kinds, key=total)


def total(every: Sequence[Traffic]) -> int:
    """Return the bytes of all ranks in both directions."""
    return sum(map(sum, every))


def _missing(group: Group, owns_nodes: bool) -> Optional[str]:
    """Return why the ports would not count the bytes of the run, or not only these; None if they do.

    Virtual nodes of one machine have names of their own, but the same address.
    """
    nodes = min(len({each.host for each in group.members}), len({each.address for each in group.members}))
    if nodes == 1:
        return "all tasks are on one node"
    if nodes < group.size:
        return "several tasks share a node"
    if not owns_nodes:
        return "the job may share its nodes; set slurm: {exclusive: true}"
    return None


def _rates(before: Counts, after: Counts) -> Tuple[float, float]:
    elapsed_s = after.time_s - before.time_s
    return (after.sent - before.sent) / elapsed_s, (after.received - before.received) / elapsed_s
