"""What one forward pass of one item shows of an external model."""

import hashlib
from typing import Iterable, NamedTuple, Tuple

DIGITS = 16


class Trace(NamedTuple):
    """The FLOPs (1 MAC = 2 FLOPs), output and structure of a model. Only PyTorch sets `unused` and `uncounted`."""

    flops: int
    output_shape: Tuple[int, ...]  # with a batch of 1
    fingerprint: str
    unused: Tuple[str, ...] = ()  # the parameters without influence on the output
    uncounted: Tuple[str, ...] = ()  # the operators whose FLOPs are not included


def fingerprint(lines: Iterable[str]) -> str:
    """Return the hash of the lines that describe a model."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:DIGITS]
