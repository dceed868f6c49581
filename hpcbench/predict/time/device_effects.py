"""How devices differ from the fleet: an offset, and slopes over a few features, shrunk towards the fleet.

The effects are those of a linear mixed model with random coefficients by device [1]. Their variances come from the
devices with many rows, so that a device with few rows moves only as far from the fleet as devices typically do.

[1] N. M. Laird, J. H. Ware, "Random-effects models for longitudinal data", Biometrics 38 (1982), equation 3.1.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.tables.prediction import Floats

# The first deviations and their weight are assumptions. Fits on the public sets end at 0.2 to 0.4 for offsets, and at
# 0.06 to 0.10 for slopes.
_MANY = 50  # rows of a device that shows its effects
_FIRST_DEVIATIONS = (0.3, 0.1)  # of offsets, and of slopes per standard deviation of a feature
_EXPECTED_DEVICES = 3.0  # weight of the deviations above, as a number of devices
_CUT = 3.0  # errors over so many deviations count as so many: Huber's clipping
_TYPICAL_NOISE, _LEAST_NOISE = 0.2, 0.05  # of the rows of a device: without devices with many rows, and at least
_LEAST_SCALE = 1e-3  # of a feature, so that a constant one has a scale
_DEVIATION_OF_MEDIAN = 1.4826  # standard deviation of a normal distribution over the median of sizes of its errors
_REPEATED = 0.1  # least variance of the mean of a device's rows, as a fraction of that of one row


@dataclass(frozen=True)
class DeviceEffects:
    """Coefficients by device, of 1 and of each feature less its centre, divided by its scale."""

    names: tuple[str, ...]
    centres: tuple[float, ...]
    scales: tuple[float, ...]
    coefficients: Mapping[str, tuple[float, ...]]
    deviations: tuple[float, ...]  # of the coefficients of the fleet

    def predict(self, features: pd.DataFrame, devices: pd.Series) -> Floats:
        """Return the effect for each row of features on the device of this name; 0 for an unknown device."""
        design = self.design(features)
        found = np.zeros(len(features))
        for name, coefficients in self.coefficients.items():
            of = (devices == name).to_numpy()
            found[of] = design[of] @ np.array(coefficients, dtype="float64")
        return found

    def design(self, features: pd.DataFrame) -> Floats:
        """Return a column of ones, and the scaled features; 0 for missing ones."""
        values = features[list(self.names)].to_numpy(dtype="float64")
        scaled = np.nan_to_num((values - np.array(self.centres)) / np.array(self.scales))
        return np.column_stack([np.ones(len(features)), np.clip(scaled, -_CUT, _CUT)])

    def to_json(self) -> dict[str, Any]:
        """Return the effects as JSON types."""
        return {
            "names": list(self.names),
            "centres": list(self.centres),
            "scales": list(self.scales),
            "coefficients": {name: list(each) for name, each in self.coefficients.items()},
            "deviations": list(self.deviations),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> DeviceEffects:
        """Return the effects that `to_json` described."""
        return cls(
            tuple(data["names"]),
            tuple(data["centres"]),
            tuple(data["scales"]),
            {name: tuple(each) for name, each in data["coefficients"].items()},
            tuple(data["deviations"]),
        )


def no_effects(features: pd.DataFrame, names: Sequence[str]) -> DeviceEffects:
    """Return effects of no device, with the centres and scales of these features."""
    values = features[list(names)]
    centres, scales = values.mean().fillna(0.0), values.std(ddof=0).fillna(1.0).clip(lower=_LEAST_SCALE)
    deviations = no_deviations(len(names))
    return DeviceEffects(tuple(names), tuple(map(float, centres)), tuple(map(float, scales)), {}, deviations)


def no_deviations(slopes: int) -> tuple[float, ...]:
    """Return the expected deviations of an offset and so many slopes, before any device is known."""
    return (_FIRST_DEVIATIONS[0], *[_FIRST_DEVIATIONS[1]] * slopes)


def fit_effects(
    rest: Floats, weights: Floats, features: pd.DataFrame, devices: pd.Series, start: DeviceEffects
) -> DeviceEffects:
    """Return the effects that explain the rest of a model; their median over devices with many rows is zero."""
    design = start.design(features)
    places = devices.groupby(devices).indices
    deviations = np.array(start.deviations)
    noise = {name: _noise(rest[at]) for name, at in places.items()}
    of_many = [noise[name] for name, at in places.items() if len(at) >= _MANY]
    fleet_noise = float(np.median(of_many or [_TYPICAL_NOISE]))
    noise = {name: noise[name] if len(at) >= _MANY else fleet_noise for name, at in places.items()}

    def solved_for(rest: Floats, deviations: Floats) -> dict[Hashable, Floats]:
        return {name: _solve(rest[at], weights[at], design[at], deviations, noise[name]) for name, at in places.items()}

    solved = solved_for(rest, deviations)
    many = [name for name, at in places.items() if np.sum(weights[at]) >= _MANY]
    if len(many) > 1:
        found = np.array([solved[name] for name in many])
        middle = np.median(found, axis=0)
        expected = _EXPECTED_DEVICES * np.array(no_deviations(len(start.names))) ** 2
        squares = np.sum((found - middle) ** 2, axis=0)
        deviations = np.sqrt((squares + expected) / (len(many) + _EXPECTED_DEVICES))
        solved = solved_for(rest - design @ middle, deviations)
    coefficients = {str(name): tuple(map(float, each)) for name, each in solved.items()}
    return DeviceEffects(start.names, start.centres, start.scales, coefficients, tuple(map(float, deviations)))


def _noise(rest: Floats) -> float:
    """Return the standard deviation of errors from the median of their sizes."""
    return max(_DEVIATION_OF_MEDIAN * float(np.median(np.abs(rest - np.median(rest)))), _LEAST_NOISE)


def _solve(rest: Floats, weights: Floats, design: Floats, deviations: Floats, noise: float) -> Floats:
    """Return the best linear unbiased prediction of a device's coefficients (Laird and Ware, equation 3.3)."""
    centre = float(np.median(rest))
    clipped = centre + np.clip(rest - centre, -_CUT * noise, _CUT * noise)
    effective = weights / max(1.0, _REPEATED * float(np.sum(weights)) / design.shape[1])
    weighted = design * (effective / noise**2)[:, None]
    precision = design.T @ weighted + np.diag(1.0 / deviations**2)
    return np.asarray(np.linalg.solve(precision, weighted.T @ clipped))
