"""The communication of the ranks of a run, as a part of records."""

from dataclasses import dataclass
from typing import Optional, Sequence

from ..record_field import described

TCP, PORTS = "tcp", "ports"  # sources of the bytes


@dataclass(frozen=True)
class Communication:
    """The bytes that ranks exchanged during the measured steps, and those that the strategy's algorithm requires.

    Bytes are counted at the rank's TCP connections, without headers and retransmissions. Those of NCCL that
    bypass TCP are counted at the ports of the rank's node, with headers.
    """

    bytes_per_step: Optional[float] = described(
        "bytes that a rank sends per step, and as many that it receives: mean over ranks and both directions",
        "communication_bytes_per_step",
        "B",
    )
    expected_bytes_per_step: Optional[float] = described(
        "the same bytes by the algorithm of the strategy and the size of the weights; null if it is unknown",
        "expected_communication_bytes_per_step",
        "B",
    )
    ratio: Optional[float] = described("measured over expected bytes", "communication_ratio")
    algorithm: str = described("the algorithm of the expected bytes", "communication_algorithm")
    reason: Optional[str] = described("why bytes were not measured", "communication_reason", default=None)
    source: Optional[str] = described(
        "where bytes were counted: `tcp` (connections of the ranks) or `ports` (network ports of their nodes, with "
        "headers; other traffic is estimated and subtracted); null if they were not measured",
        "communication_source",
        default=None,
    )
    steps: Optional[int] = described("steps during which bytes were counted", default=None)
    sent_bytes: Sequence[int] = described("bytes that each rank sent in these steps, by rank", default=())
    received_bytes: Sequence[int] = described("bytes that each rank received in these steps, by rank", default=())
