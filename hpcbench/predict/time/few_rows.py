"""How a few measured operators of a device correct the predictions of all its operators.

Two functions differ from the fleet's by device: the efficiency of kernels, and the floor of calls. Both are Gaussian
processes around the fleet [1]. What a family has in common with others, what it has of its own, and what only similar
sizes share, are their covariances. The logarithm of a measured time depends on both by the slopes of its call's cost,
so that a call at its floor contains no information on its kernel. The slopes are those at the last estimate [2]. Large
errors have less weight (Huber's weights).

[1] C. E. Rasmussen, C. K. I. Williams, "Gaussian processes for machine learning" (2006), equations 2.23 and 2.24.
[2] B. M. Bell, F. W. Cathey, "The iterated Kalman filter update as a Gauss-Newton method", IEEE TAC 38(2), 1993.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hpcbench.predict.tables.prediction import Floats
from hpcbench.predict.time import call_cost
from hpcbench.predict.time.families import ROW_WISE

# Standard deviations of logarithms between devices, as the devices of the public sets differ from each other.
_DEVICE, _GROUP, _FAMILY, _SIZE = 0.05, 0.10, 0.12, 0.30  # of efficiencies; groups are row-wise operators, and others
_HOST, _KEY = 0.25, 0.10  # of floors: of all calls, and of one key
_NOISE = 0.20  # of a row
_LENGTH = 2.0  # difference of logarithms of sizes over which the rest changes
_CUT = 2.0  # errors over so many deviations count as so many
_ROUNDS = 3  # of new slopes, and of new weights
SIZES = ("compute", "memory", "k", "smaller", "columns", "keys")


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
    def is_row_wise(self) -> np.ndarray:
        """Return which operators are row-wise."""
        return np.isin([family.split("|")[0] for family in self.family], ROW_WISE)


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
        return self._answer(cross, _DEVICE**2 + _GROUP**2 + _FAMILY**2 + _SIZE**2)

    def floor(self, asked: Subjects) -> tuple[Floats, Floats]:
        """Return what to add to the logarithm of each floor, and its remaining deviation over that before."""
        cross = _floor_covariance(asked, self.subjects) * self.floor_slope
        return self._answer(cross, _HOST**2 + _KEY**2)

    def _answer(self, cross: Floats, before: float) -> tuple[Floats, Floats]:
        known = np.einsum("ij,jk,ik->i", cross, self._precision, cross)
        return cross @ self._precision @ self.rest, np.sqrt(np.clip(1.0 - known / before, 0.0, 1.0))

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
    noise = np.full(len(time_s), _NOISE**2)
    kernel, floor = np.zeros(len(time_s)), np.zeros(len(time_s))
    for _ in range(_ROUNDS):
        device, least = free_s * np.exp(kernel), floor_s * np.exp(floor)
        slope = call_cost.sensitivity(device, least, events_s)
        floor_slope = call_cost.floor_sensitivity(device, least, events_s)
        rest = np.log(time_s / call_cost.measured(device, least, events_s)) + slope * kernel + floor_slope * floor
        found = FewRows(subjects, slope, floor_slope, noise, rest)
        kernel, floor = found.kernel(subjects)[0], found.floor(subjects)[0]
        errors = np.abs(rest - slope * kernel - floor_slope * floor)
        noise = _NOISE**2 * np.maximum(errors / (_CUT * _NOISE), 1.0)
    return found


def _kernel_covariance(one: Subjects, other: Subjects) -> Floats:
    distance = np.sum((one.sizes[:, None, :] - other.sizes[None, :, :]) ** 2, axis=2) / _LENGTH**2
    same_group = one.is_row_wise[:, None] == other.is_row_wise[None, :]
    same_family = one.family[:, None] == other.family[None, :]
    own = _FAMILY**2 + _SIZE**2 * np.exp(-distance / 2)
    return np.asarray(_DEVICE**2 + _GROUP**2 * same_group + own * same_family, dtype="float64")


def _floor_covariance(one: Subjects, other: Subjects) -> Floats:
    same_timing = one.timing[:, None] == other.timing[None, :]
    same_key = one.key[:, None] == other.key[None, :]
    return np.asarray(_HOST**2 * same_timing + _KEY**2 * same_key, dtype="float64")
