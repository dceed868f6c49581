"""Whether repeated calls return the same bits, and calls with other numbers of threads."""

import math
import time
import zlib
from typing import Callable, Dict, NamedTuple, Optional, Sequence, Set

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
    calls, others = _Calls(first), _Calls(first, has_variances=False)
    calls.add(first)
    calls.add(call())
    while calls.count < CALLS and time.monotonic() - start < limit_s:
        calls.add(call())
    if with_threads:
        for count in threads:
            others.add(with_threads(count))
    of_threads = others.largest if others.count > 1 else None
    repeatability = Repeatability(
        calls=calls.count,
        bitwise=calls.are_equal,
        largest_difference=finite(calls.largest),
        thread_counts=list(threads) if with_threads else [],
        threads_bitwise=others.are_equal if others.count > 1 else None,
        threads_difference=None if of_threads is None else finite(of_threads),
        reason="a difference is not finite" if numpy.inf in (calls.largest, of_threads) else None,
    )
    return Repeated(repeatability, None if calls.are_equal else calls.variances())


class _Calls:
    """The results of several calls, of which only checksums, the largest difference to the first and sums are kept.

    The sums are those of Welford (1962, Technometrics 4), from the first call that differs.
    """

    def __init__(self, first: Arrays, has_variances: bool = True) -> None:
        self.count, self.largest = 0, 0.0
        self._first, self._expected, self._has_variances = first, checksum(first), has_variances
        self._checksums: Set[int] = set()
        self._sums: Dict[str, _Sums] = {}

    @property
    def are_equal(self) -> bool:
        """Return whether all calls returned the same bits."""
        return len(self._checksums) == 1

    def add(self, results: Arrays) -> None:
        """Add the results of one call."""
        found = checksum(results)
        self._checksums.add(found)
        if found != self._expected:
            self.largest = max(self.largest, *(_largest(array, results[name]) for name, array in self._first.items()))
            if self._has_variances and not self._sums:
                self._sums = {name: _Sums(array) for name, array in self._first.items()}
        self.count += 1
        for name, sums in self._sums.items():
            sums.add(results[name], self.count)

    def variances(self) -> Arrays:
        """Return the variance of each array over the calls."""
        return {name: sums.squares / self.count for name, sums in self._sums.items()}


class _Sums:
    """Mean and sum of squared deviations of an array, of which all so far were equal to `first`."""

    def __init__(self, first: "numpy.ndarray") -> None:
        self.mean = first.astype(numpy.float64)
        self.squares = numpy.zeros(first.shape)

    def add(self, array: "numpy.ndarray", count: int) -> None:
        """Add one more array, which is the one with this number."""
        with numpy.errstate(invalid="ignore"):  # of infinite numbers
            before = array - self.mean
            self.mean += before / count
            self.squares += before * (array - self.mean)


def checksum(arrays: Arrays) -> int:
    """Return the CRC-32 of the bits of all arrays."""
    result = 0
    for name in sorted(arrays):
        result = zlib.crc32(numpy.ascontiguousarray(arrays[name]).data, result)
    return result


def _largest(first: "numpy.ndarray", second: "numpy.ndarray") -> float:
    """Return the largest difference of two numbers, which is infinite if only one is finite."""
    a, b = first.astype(numpy.float64), second.astype(numpy.float64)
    is_equal = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
    with numpy.errstate(invalid="ignore"):
        differences = numpy.where(is_equal, 0.0, numpy.abs(a - b))
    return float(numpy.where(numpy.isnan(differences), numpy.inf, differences).max())
