"""Measure the bytes that ranks exchange per step."""

from typing import TYPE_CHECKING, Dict, Optional

from ...core.training.communication import Communication
from ...models import communication_volume
from ..host import tcp_sockets
from ..host.tcp_sockets import Traffic

if TYPE_CHECKING:
    from ..frameworks.adapter import Network  # needs numpy

_NCCL = "GPUs communicate through NCCL, whose bytes are not counted"
_KERNEL = "the kernel does not count the bytes of TCP connections (Linux 4.19 or newer does)"


class Meter:
    """Counts the bytes of this rank's TCP connections during the measured steps. All ranks call its methods.

    The few bytes that hpcbench's own ranks exchange are counted, too: some tens of bytes in half a second.
    """

    def __init__(self, network: "Network") -> None:
        self.network, self.group = network, network.problem.group
        self.before: Optional[Dict[int, Traffic]] = {}

    def begin(self) -> None:
        """Start to count."""
        self.group.gather(None)  # no rank still has steps of the warm-up to take
        self.before = tcp_sockets.connections()
        self.group.gather(None)  # no rank has started to measure

    def end(self, first: int, steps: int) -> Communication:
        """Return the communication of the `steps` since `begin`. The rank has synchronized after the last of them.

        `first` is the number of steps before `begin`.
        """
        self.group.gather(None)  # what this rank has sent has arrived
        now, before = tcp_sockets.connections(), self.before
        own = None if now is None or before is None else tcp_sockets.since(before, now)
        every = [Traffic(*each) for each in self.group.gather(own) if each is not None]
        exchange = self.network.exchange()
        expected = communication_volume.expected(exchange)
        exchanges = (first + steps) // exchange.period - first // exchange.period
        wanted = expected.bytes * exchanges / steps
        through_nccl = exchange.on_gpu and exchange.strategy not in communication_volume.SERVERS
        reason = _NCCL if through_nccl else _KERNEL if len(every) < self.group.size else None
        if reason:
            return Communication(None, wanted, None, expected.algorithm, reason)
        measured = sum(map(sum, every)) / 2 / len(every) / steps
        return Communication(
            bytes_per_step=measured,
            expected_bytes_per_step=wanted,
            ratio=measured / wanted if wanted else None,
            algorithm=expected.algorithm,
            steps=steps,
            sent_bytes=[each.sent for each in every],
            received_bytes=[each.received for each in every],
        )
