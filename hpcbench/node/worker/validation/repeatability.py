"""Whether repeated calls return the same bits, and calls with other numbers of threads."""

import math
import time
import zlib
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence

import numpy

from ....core.validation.result import Repeatability
from .array_errors import finite

CALLS = 5
LIMIT_S = 1.0  # after which slow operators are not called again
Arrays = Dict[str, "numpy.ndarray"]


class Repeated(NamedTuple):
    """The repeatability, and the variance of each array over the calls, if they differ."""

    repeatability: Repeatability
    variances: Optional[Arrays]


def repeated(
    first: Arrays,
    call: Callable[[], Arrays],
    with_threads: Optional[Callable[[int], Arrays]],
    threads: Sequence[int],
    limit_s: float = math.inf,
) -> Repeated:
    """Call again with the same input, and with each number of threads if the framework can change it in a process.

    There are two calls at least, and no further ones after `limit_s`.
    """
    start = time.monotonic()
    calls = [first, call()]
    while len(calls) < CALLS and time.monotonic() - start < limit_s:
        calls.append(call())
    others = [with_threads(count) for count in threads] if with_threads else []
    largest = max(_difference(first, each) for each in calls)
    of_threads = max(_difference(first, each) for each in others) if len(others) > 1 else None
    repeatability = Repeatability(
        calls=len(calls),
        bitwise=_equal(calls),
        largest_difference=finite(largest),
        thread_counts=list(threads) if with_threads else [],
        threads_bitwise=_equal(others) if len(others) > 1 else None,
        threads_difference=None if of_threads is None else finite(of_threads),
        reason="a difference is not finite" if numpy.inf in (largest, of_threads) else None,
    )
    return Repeated(repeatability, None if repeatability.bitwise else _variances(calls))


def checksum(arrays: Arrays) -> int:
    """Return the CRC-32 of the bits of all arrays."""
    result = 0
    for name in sorted(arrays):
        result = zlib.crc32(numpy.ascontiguousarray(arrays[name]).data, result)
    return result


def _equal(calls: List[Arrays]) -> bool:
    return len({checksum(each) for each in calls}) == 1


def _difference(first: Arrays, second: Arrays) -> float:
    """Return the largest difference of two numbers, which is infinite if only one is finite."""
    if _equal([first, second]):
        return 0.0
    return max(_largest(first[name].astype(numpy.float64), second[name].astype(numpy.float64)) for name in first)


def _largest(a: "numpy.ndarray", b: "numpy.ndarray") -> float:
    is_equal = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
    with numpy.errstate(invalid="ignore"):
        differences = numpy.where(is_equal, 0.0, numpy.abs(a - b))
    return float(numpy.where(numpy.isnan(differences), numpy.inf, differences).max())


def _variances(calls: List[Arrays]) -> Arrays:
    with numpy.errstate(invalid="ignore"):  # of infinite numbers
        return {name: numpy.var([each[name].astype(numpy.float64) for each in calls], axis=0) for name in calls[0]}
