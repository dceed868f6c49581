"""The covariance of operators: what the efficiencies of operators on the same CPUs have in common.

It is the sum of what two operators share: the device, their kind, their function, their number of threads, and how they
were timed. Operators of one kind and of similar sizes are also correlated. This term is exponential in the
distance of sizes. A linear term extrapolates trends beyond the measured sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcbench.predict.gaussian_process import exponential, same
from hpcbench.predict.tables.prediction import Floats

_UNIT = 3.0  # of slopes, as a binary logarithm: a factor of 8 in a size


@dataclass(frozen=True)
class Points:
    """Operators by what their covariance depends on, as arrays of equal length; `sizes` has a row per operator."""

    kinds: NDArray[np.str_]
    functions: NDArray[np.str_]
    threads: Floats
    is_call: NDArray[np.bool_]
    sizes: Floats  # binary logarithms

    @cached_property
    def centre(self) -> Floats:
        """Return the median of each size."""
        return np.asarray(np.median(self.sizes, axis=0), dtype="float64")

    def to_json(self) -> dict[str, Any]:
        """Return the points as JSON types."""
        return {
            "kinds": self.kinds.tolist(),
            "functions": self.functions.tolist(),
            "threads": self.threads.tolist(),
            "is_call": self.is_call.tolist(),
            "sizes": np.round(self.sizes, 4).tolist(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Points:
        """Return the points that `to_json` described."""
        return cls(
            np.array(data["kinds"], dtype=np.str_),
            np.array(data["functions"], dtype=np.str_),
            np.array(data["threads"], dtype="float64"),
            np.array(data["is_call"], dtype=bool),
            np.array(data["sizes"], dtype="float64"),
        )


@dataclass(frozen=True)
class Covariance:
    """Standard deviations of the logarithm of time over the simple model, and distances of sizes.

    No public set has operators on CPUs. These values are rounded results of a maximum-likelihood fit
    (`benchmarks/fit_covariance.py`) to 770 operators, each profiled twice on two cores of a Xeon. A fit to 688
    operators on two cores of an AMD EPYC, with the prior of this script around these values, differs by a factor of at
    most 1.7.
    `make bench-predict-here` measures the errors that follow.
    """

    device: float = 0.7
    kind: float = 0.2
    function: float = 0.7
    threads: float = 0.16
    threads_of_kind: float = 0.08
    call: float = 0.2  # of calls in a loop, whose data are in the caches
    call_of_kind: float = 0.2
    size_of_kind: float = 0.45
    size_of_function: float = 0.25
    slope: float = 0.13
    noise: float = 0.2  # between networks, of the time of one operator
    length_of_kind: float = 13.0  # distances of sizes, as binary logarithms
    length_of_function: float = 9.0

    def between(self, one: Points, other: Points, centre: Floats) -> Floats:
        """Return the covariance of each point of one set with each of the other, without noise; slopes at `centre`."""
        kind, function = same(one.kinds, other.kinds), same(one.functions, other.functions)
        threads = same(one.threads, other.threads)
        calls = one.is_call[:, None] & other.is_call[None, :]
        by_kind = self.kind**2 + self.size_of_kind**2 * exponential(one.sizes, other.sizes, self.length_of_kind)
        by_kind += self._slopes(one, centre) @ self._slopes(other, centre).T
        by_kind += self.threads_of_kind**2 * threads + self.call_of_kind**2 * calls
        by_size = self.size_of_function**2 * exponential(one.sizes, other.sizes, self.length_of_function)
        common = self.device**2 + self.threads**2 * threads + self.call**2 * calls
        found: Floats = common + kind * by_kind + function * (self.function**2 + by_size)
        return found

    def measured(self, points: Points) -> Floats:
        """Return the covariance matrix of measured points, including noise. Slopes are relative to their centre."""
        found: Floats = self.between(points, points, points.centre) + np.eye(len(points.kinds)) * self.noise**2
        return found

    def variance(self, points: Points, centre: Floats) -> Floats:
        """Return the variance of each point before any measurement, without noise: the diagonal of `between`."""
        fixed = (self.device, self.kind, self.function, self.threads, self.threads_of_kind)
        of_sizes = self.size_of_kind**2 + self.size_of_function**2 + np.sum(self._slopes(points, centre) ** 2, axis=1)
        of_calls = points.is_call * (self.call**2 + self.call_of_kind**2)
        found: Floats = sum(each**2 for each in fixed) + of_sizes + of_calls
        return found

    def _slopes(self, points: Points, centre: Floats) -> Floats:
        return self.slope * (points.sizes - centre) / _UNIT


OF_OPERATORS = Covariance()
