"""Measure the bytes that ranks exchange per step."""

from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional

from ...core.training.communication import PORTS, TCP, Communication
from ...models import communication_volume
from ..host import tcp_sockets
from ..host.tcp_sockets import Traffic
from . import port_counters
from .port_counters import PortCounters

if TYPE_CHECKING:
    from ..frameworks.adapter import Network  # needs numpy

_NCCL = "GPUs communicate through NCCL, whose bytes are counted only at the ports of whole nodes: %s"
_KERNEL = "the kernel does not count the bytes of TCP connections (Linux 4.19 or newer does)"
_ELSEWHERE = "the port counters do not contain NCCL's traffic: %.2g of %.2g expected bytes per step"
_LEAST = 0.1  # of the expected bytes: with reductions in the network, ranks exchange about half of them


class _Counted(NamedTuple):
    """The bytes of each rank and their source; without bytes, the reason."""

    every: List[Traffic]
    source: Optional[str] = None
    reason: Optional[str] = None


class Meter:
    """Counts the bytes that this rank exchanges during the measured steps. All ranks call its methods.

    It counts at the rank's TCP connections and, for NCCL, at the ports of its node. The few bytes that hpcbench's own
    ranks exchange are counted, too: some tens of bytes in half a second.
    """

    def __init__(self, network: "Network", owns_nodes: bool = False, root: str = "/") -> None:
        """Create it before the warm-up. For `owns_nodes` and `root`, see PortCounters."""
        self.network, self.group = network, network.problem.group
        self.before: Optional[Dict[int, Traffic]] = {}
        exchange = network.exchange()
        through_nccl = exchange.on_gpu and exchange.strategy not in communication_volume.SERVERS
        self.ports = PortCounters(self.group, owns_nodes, root) if through_nccl else None

    def begin(self) -> None:
        """Start to count."""
        self.group.gather(None)  # no rank still has steps of the warm-up to take
        self.before = tcp_sockets.connections()
        if self.ports:
            self.ports.begin()
        self.group.gather(None)  # no rank has started to measure

    def end(self, first: int, steps: int) -> Communication:
        """Return the communication of the `steps` since `begin`. The rank has synchronized after the last of them.

        `first` is the number of steps before `begin`.
        """
        self.group.gather(None)  # what this rank has sent has arrived
        now, before = tcp_sockets.connections(), self.before
        own = None if now is None or before is None else tcp_sockets.since(before, now)
        gathered = self.group.gather((own, self.ports.end() if self.ports else {}))
        sockets = [Traffic(*each) for each, _ in gathered if each is not None]
        ports = [{kind: Traffic(*each) for kind, each in own.items()} for _, own in gathered]
        exchange = self.network.exchange()
        expected = communication_volume.expected(exchange)
        exchanges = (first + steps) // exchange.period - first // exchange.period
        wanted = expected.bytes * exchanges / steps
        if self.ports and self.ports.missing is not None:
            counted = _Counted([], reason=_NCCL % self.ports.missing)
        elif self.ports:
            counted = _of_nccl(sockets, port_counters.busiest(ports), wanted, steps)
        else:
            counted = _Counted(sockets, TCP, None if len(sockets) == self.group.size else _KERNEL)
        if counted.reason:
            return Communication(None, wanted, None, expected.algorithm, counted.reason)
        measured = _each_way(counted.every, steps)
        return Communication(
            bytes_per_step=measured,
            expected_bytes_per_step=wanted,
            ratio=measured / wanted if wanted else None,
            algorithm=expected.algorithm,
            source=counted.source,
            steps=steps,
            sent_bytes=[each.sent for each in counted.every],
            received_bytes=[each.received for each in counted.every],
        )


def _of_nccl(sockets: List[Traffic], ports: List[Traffic], wanted: float, steps: int) -> _Counted:
    """Return the bytes at the ports; those at the sockets, which are exact, if NCCL communicates over TCP.

    NCCL has TCP connections also if its data bypass them, so their existence proves nothing. `wanted` are the expected
    bytes per step.
    """
    over_tcp = len(sockets) == len(ports) and 2 * port_counters.total(sockets) >= port_counters.total(ports)
    every = sockets if over_tcp else ports
    measured = _each_way(every, steps)
    if measured < _LEAST * wanted:
        return _Counted([], reason=_ELSEWHERE % (measured, wanted))
    return _Counted(every, TCP if over_tcp else PORTS)


def _each_way(every: List[Traffic], steps: int) -> float:
    """Return the bytes of a step that a rank sends, and as many that it receives: the mean over ranks and ways."""
    return port_counters.total(every) / 2 / len(every) / steps
