"""How a few measured operators of a device correct the predictions of all its operators.

Two functions differ from the fleet's by device: the efficiency of kernels, and the floor of calls. Both are Gaussian
processes around the fleet [1]. What a family has in common with others of its class, what it has of its own, and what
only similar sizes share, are their covariances. The logarithm of a measured time depends on both by the slopes of its
call's cost, so that a call at its floor contains no information on its kernel. The slopes are those at the last
estimate [2]. Large errors have less weight (Huber's weights).

[1] C. E. Rasmussen, C. K. I. Williams, "Gaussian processes for machine learning" (2006), equations 2.23 and 2.24.
[2] B. M. Bell, F. W. Cathey, "The iterated Kalman filter update as a Gauss-Newton method", IEEE TAC 38(2), 1993.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hpcbench.predict.gaussian_process import exponential, posterior, same
from hpcbench.predict.tables.prediction import Floats
from hpcbench.predict.time import call_cost
from hpcbench.predict.time.families import ATTENTION, ATTENTION_DECODE, ROW_WISE

MOST_FEW = 100  # rows of a device up to which they only correct the predictions for it
# Standard deviations of logarithms between devices: those with the largest likelihood of how each device of the public
# sets differs from a fleet without it. Classes are row-wise operators, products, and attention.
_DEVICE, _CLASS, _DTYPE_OF_CLASS, _FAMILY = 0.05, 0.12, 0.10, 0.15  # of efficiencies
_SIZE_OF_CLASS, _SIZE_OF_FAMILY = 0.12, 0.31  # of efficiencies of similar sizes
_HOST, _KEY = 0.25, 0.10  # of floors: of all calls, and of one key
_NOISE, _ROW_WISE_NOISE = 0.15, 0.09  # of a row
_LENGTH = 6.4  # difference of logarithms of sizes over which the rest changes
_CUT = 2.0  # errors over so many deviations count as so many: an assumption
_ROUNDS = 3  # of new slopes, and of new weights
_SHARED = ("compute", "memory", "cache")  # sizes that the families of a class share
_ROW_WISE_CLASS, _PRODUCTS, _ATTENTIONS = "row-wise", "products", "attention"
_CLASSES = {**dict.fromkeys(ROW_WISE, _ROW_WISE_CLASS), **dict.fromkeys((ATTENTION, ATTENTION_DECODE), _ATTENTIONS)}
SIZES = (*_SHARED, "k", "smaller", "columns", "keys")
_SHARED_SIZES, _FAMILY_SIZES = slice(0, len(_SHARED)), [place for place, name in enumerate(SIZES) if name != "cache"]
_BEFORE = _DEVICE**2 + _CLASS**2 + _DTYPE_OF_CLASS**2 + _FAMILY**2 + _SIZE_OF_CLASS**2 + _SIZE_OF_FAMILY**2


@dataclass(frozen=True)
class Subjects:
    """Operators as the covariances need them: arrays with one value, or row of sizes, per operator."""

    family: np.ndarray  # with the data type: "gemm|float32"
    key: np.ndarray
    sizes: Floats  # a row per operator, of the features SIZES

    @property
    def timing(self) -> np.ndarray:
        """Return how each operator is timed, the end of its key."""
        return np.array([key.rsplit("|", 1)[-1] for key in self.key], dtype="object")

    @property
    def classes(self) -> np.ndarray:
        """Return the class of each operator."""
        return np.array([_CLASSES.get(family.split("|")[0], _PRODUCTS) for family in self.family], dtype="object")

    @property
    def dtypes_of_classes(self) -> np.ndarray:
        """Return the class and data type of each operator."""
        dtypes = np.array([family.split("|")[-1] for family in self.family], dtype="object")
        return np.asarray(self.classes + "|" + dtypes)


@dataclass(frozen=True)
class FewRows:
    """Measured operators of one device: how their times depend on both functions, and what the fleet leaves."""

    subjects: Subjects
    kernel_slope: Floats
    floor_slope: Floats
    noise: Floats  # variances
    rest: Floats  # logarithms of measured time over that of the fleet

    def kernel(self, asked: Subjects) -> tuple[Floats, Floats]:
        """Return what to add to the logarithm of each efficiency, and its remaining deviation over that before."""
        cross = _kernel_covariance(asked, self.subjects) * self.kernel_slope
        return self._answer(cross, _BEFORE)

    def floor(self, asked: Subjects) -> tuple[Floats, Floats]:
        """Return what to add to the logarithm of each floor, and its remaining deviation over that before."""
        cross = _floor_covariance(asked, self.subjects) * self.floor_slope
        return self._answer(cross, _HOST**2 + _KEY**2)

    def _answer(self, cross: Floats, before: float) -> tuple[Floats, Floats]:
        mean, explained = posterior(cross, self._precision, self.rest)
        return mean, np.sqrt(np.clip(1.0 - explained / before, 0.0, 1.0))

    @cached_property
    def _precision(self) -> Floats:
        explained = np.outer(self.kernel_slope, self.kernel_slope) * _kernel_covariance(self.subjects, self.subjects)
        explained += np.outer(self.floor_slope, self.floor_slope) * _floor_covariance(self.subjects, self.subjects)
        return np.asarray(np.linalg.inv(explained + np.diag(self.noise)))

    def to_json(self) -> dict[str, Any]:
        """Return the rows as JSON types."""
        return {
            "family": list(self.subjects.family),
            "key": list(self.subjects.key),
            "sizes": self.subjects.sizes.tolist(),
            "kernel_slope": self.kernel_slope.tolist(),
            "floor_slope": self.floor_slope.tolist(),
            "noise": self.noise.tolist(),
            "rest": self.rest.tolist(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FewRows:
        """Return the rows that `to_json` described."""
        subjects = Subjects(
            np.array(data["family"], dtype="object"), np.array(data["key"], dtype="object"), np.array(data["sizes"])
        )
        return cls(subjects, *(np.array(data[name]) for name in ("kernel_slope", "floor_slope", "noise", "rest")))


def fit_few_rows(subjects: Subjects, time_s: Floats, free_s: Floats, floor_s: Floats, events_s: Floats) -> FewRows:
    """Return the rows of one device from its measured times and the fleet's times of kernels, floors and events.

    All times are in seconds.
    """
    deviation = np.where(subjects.classes == _ROW_WISE_CLASS, _ROW_WISE_NOISE, _NOISE)
    noise = deviation**2
    kernel, floor = np.zeros(len(time_s)), np.zeros(len(time_s))
    for _ in range(_ROUNDS):
        device, least = free_s * np.exp(kernel), floor_s * np.exp(floor)
        slope = call_cost.sensitivity(device, least, events_s)
        floor_slope = call_cost.floor_sensitivity(device, least, events_s)
        rest = np.log(time_s / call_cost.measured(device, least, events_s)) + slope * kernel + floor_slope * floor
        found = FewRows(subjects, slope, floor_slope, noise, rest)
        kernel, floor = found.kernel(subjects)[0], found.floor(subjects)[0]
        errors = np.abs(rest - slope * kernel - floor_slope * floor)
        noise = deviation**2 * np.maximum(errors / (_CUT * deviation), 1.0)
    return found


def _kernel_covariance(one: Subjects, other: Subjects) -> Floats:
    of_class = _CLASS**2 + _SIZE_OF_CLASS**2 * exponential(
        one.sizes[:, _SHARED_SIZES], other.sizes[:, _SHARED_SIZES], _LENGTH
    )
    of_family = _FAMILY**2 + _SIZE_OF_FAMILY**2 * exponential(
        one.sizes[:, _FAMILY_SIZES], other.sizes[:, _FAMILY_SIZES], _LENGTH
    )
    found = _DEVICE**2 + of_class * same(one.classes, other.classes) + of_family * same(one.family, other.family)
    return np.asarray(found + _DTYPE_OF_CLASS**2 * same(one.dtypes_of_classes, other.dtypes_of_classes))


def _floor_covariance(one: Subjects, other: Subjects) -> Floats:
    return np.asarray(_HOST**2 * same(one.timing, other.timing) + _KEY**2 * same(one.key, other.key))
