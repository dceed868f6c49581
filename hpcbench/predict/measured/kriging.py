"""Kriging over operators: what a simple model misses, from similar operators that were measured.

The logarithm of time over the simple model is a Gaussian process [1, equations 2.22 to 2.24]. Its covariance is a sum
of what operators have in common: the device, their kind, their function, their number of threads, and how they were
timed. Operators of one kind and of similar sizes are also correlated. Their covariance is exponential in the distance
of sizes, plus a linear one, with which trends continue beyond the measured sizes.

[1] C. E. Rasmussen, C. K. I. Williams, "Gaussian processes for machine learning", MIT Press, 2006.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcbench.predict.gaussian_process import exponential, posterior, same
from hpcbench.predict.tables.prediction import Floats

# No public set has operators on CPUs. These values have the largest likelihood of 770 operators, each profiled twice on
# two cores of a Xeon, rounded; a tenth of them, the farthest from their prediction by the others, is left out.
# `make bench-predict-here` measures the errors that follow.
# Standard deviations, as logarithms: of what operators have in common, and of the noise between networks.
_DEVICE, _KIND, _FUNCTION, _THREADS, _THREADS_OF_KIND = 0.7, 0.2, 0.7, 0.16, 0.08
_CALL, _CALL_OF_KIND = 0.2, 0.2  # of calls in a loop, whose data are in the caches
_SIZE_OF_KIND, _SIZE_OF_FUNCTION, _SLOPE = 0.45, 0.25, 0.13
_NOISE = 0.2  # of the time of one operator
_LENGTH_OF_KIND, _LENGTH_OF_FUNCTION = 13.0, 9.0  # distances of sizes, as binary logarithms
_UNIT = 3.0  # of slopes: a factor of 8 in a size


@dataclass(frozen=True)
class Points:
    """Operators by what their covariance depends on, as arrays of equal length; `sizes` has a row per operator."""

    kinds: NDArray[np.str_]
    functions: NDArray[np.str_]
    threads: Floats
    is_call: NDArray[np.bool_]
    sizes: Floats  # binary logarithms

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
class Kriging:
    """The logarithms of time over the simple model at measured points."""

    points: Points
    rest: Floats

    def predict(self, asked: Points) -> tuple[Floats, Floats]:
        """Return the mean and the standard deviation of the logarithm at other points, for new networks."""
        common = self._covariance(asked, self.points)
        mean, explained = posterior(common, self._precision, self.rest)
        variance = self._own_variance(asked) - explained
        return mean, np.sqrt(np.maximum(variance, 0.0) + _NOISE**2)

    @cached_property
    def _precision(self) -> Floats:
        """Return the inverse of the covariance of the points with noise."""
        own = self._covariance(self.points, self.points) + np.eye(len(self.rest)) * _NOISE**2
        return np.asarray(np.linalg.inv(own), dtype="float64")

    @cached_property
    def _centre(self) -> Floats:
        return np.asarray(np.median(self.points.sizes, axis=0), dtype="float64")

    def _slopes(self, points: Points) -> Floats:
        return _SLOPE * (points.sizes - self._centre) / _UNIT

    def _covariance(self, one: Points, other: Points) -> Floats:
        """Return the covariance of each point of one set with each of the other."""
        kind, function = same(one.kinds, other.kinds), same(one.functions, other.functions)
        threads = same(one.threads, other.threads)
        calls = one.is_call[:, None] & other.is_call[None, :]
        by_kind = _KIND**2 + _SIZE_OF_KIND**2 * exponential(one.sizes, other.sizes, _LENGTH_OF_KIND)
        by_kind += self._slopes(one) @ self._slopes(other).T + _THREADS_OF_KIND**2 * threads
        by_kind += _CALL_OF_KIND**2 * calls
        by_function = _FUNCTION**2 + _SIZE_OF_FUNCTION**2 * exponential(one.sizes, other.sizes, _LENGTH_OF_FUNCTION)
        found: Floats = _DEVICE**2 + kind * by_kind + function * by_function + _THREADS**2 * threads + _CALL**2 * calls
        return found

    def _own_variance(self, points: Points) -> Floats:
        """Return the variance of each point before any measurement."""
        fixed = (_DEVICE, _KIND, _FUNCTION, _THREADS, _THREADS_OF_KIND, _SIZE_OF_KIND, _SIZE_OF_FUNCTION)
        of_calls = points.is_call * (_CALL**2 + _CALL_OF_KIND**2)
        found: Floats = sum(each**2 for each in fixed) + np.sum(self._slopes(points) ** 2, axis=1) + of_calls
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the model as JSON types."""
        return {"points": self.points.to_json(), "rest": np.round(self.rest, 5).tolist()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Kriging:
        """Return the model that `to_json` described."""
        return cls(Points.from_json(data["points"]), np.array(data["rest"], dtype="float64"))
