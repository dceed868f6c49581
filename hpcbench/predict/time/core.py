"""The model before its calibration: floors of calls, and efficiencies of kernels by family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hpcbench.predict.tables.prediction import Floats
from hpcbench.predict.time import call_cost
from hpcbench.predict.time.efficiency import Efficiency, Size, fit_efficiency
from hpcbench.predict.time.families import borrowed
from hpcbench.predict.time.floors import Floors, fit_floors
from hpcbench.predict.time.prepared import Prepared
from hpcbench.predict.time.priors import BORROWED, prior_values

_ROWS_OF_HALF_WEIGHT = 3.0  # of a family's offset in the level of a device
_FLEET_WEIGHT = 0.5  # of the fleet in the level of a device, in families
_FEWEST = 30  # rows of a family for a model of its own


@dataclass(frozen=True)
class Core:
    """Floors, and efficiencies by family."""

    floors: Floors
    efficiencies: Mapping[str, Efficiency]
    levels: Mapping[str, float]  # of devices: what their offsets in all families have in common

    def log_times(self, asked: Prepared) -> tuple[Floats, Floats]:
        """Return the logarithms of times in seconds, and the expected size of their errors."""
        floor_s = asked.prior_s * np.exp(self.floors.log_factor(asked.names, asked.keys))
        log_efficiency, within = self.efficiency(asked)
        device_s = asked.bound_s * np.exp(log_efficiency)
        slope = call_cost.sensitivity(device_s, floor_s, asked.events_s)
        floor_spread = self.floors.spread(asked.names, asked.keys)
        spread = np.hypot((1 - slope) * floor_spread, slope * within)
        return np.log(call_cost.measured(device_s, floor_s, asked.events_s)), np.maximum(spread, 0.02)

    def efficiency(self, asked: Prepared) -> tuple[Floats, Floats]:
        """Return the logarithms of kernel time over bound, and their spread within and between devices."""
        log_efficiency = prior_values(asked.rows, "log_efficiency")
        spread = prior_values(asked.rows, "spread")
        for family, model in self.efficiencies.items():
            of = (asked.family == family).to_numpy()
            if of.any():
                subjects = asked.subjects[of]
                level = np.asarray(asked.names[of].map(self.levels).fillna(0.0), dtype="float64")
                level = level * model.unknown_fraction(subjects)
                log_efficiency[of] = model.predict(asked.features[of], subjects) + level
                spread[of] = np.hypot(model.spread, model.effects.deviations[0] * model.unknown_fraction(subjects))
        return log_efficiency, np.where(borrowed(asked.rows), BORROWED, 1.0) * spread

    def to_json(self) -> dict[str, Any]:
        """Return the model as JSON types."""
        efficiencies = {family: model.to_json() for family, model in self.efficiencies.items()}
        return {"floors": self.floors.to_json(), "efficiencies": efficiencies, "levels": dict(self.levels)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Core:
        """Return the model that `to_json` described."""
        efficiencies = {family: Efficiency.from_json(each) for family, each in data["efficiencies"].items()}
        return cls(Floors.from_json(data["floors"]), efficiencies, data["levels"])


def fit_core(rows: Prepared, size: Size) -> Core:
    """Return the model of prepared rows with times; without rows, that of the priors."""
    if rows.rows.empty:
        return Core(Floors({}, {}, {}), {}, {})
    time_s = rows.rows["time_s"].to_numpy(dtype="float64")
    floors = fit_floors(rows.names, rows.keys, time_s, rows.bound_s, rows.prior_s)
    floor_s = rows.prior_s * np.exp(floors.log_factor(rows.names, rows.keys))
    device_s = call_cost.kernel(time_s, floor_s, rows.events_s)
    shows = call_cost.shows_kernel(time_s, floor_s)
    weights = np.where(shows, call_cost.sensitivity(device_s, floor_s, rows.events_s), 0.0)
    target = np.log(device_s / rows.bound_s)
    efficiencies = {}
    for family in sorted(rows.family.unique()):
        of = (rows.family == family).to_numpy()
        if np.count_nonzero(weights[of]) >= _FEWEST:
            efficiencies[family] = fit_efficiency(
                family, rows.features[of], rows.subjects[of], target[of], weights[of], size
            )
    return Core(floors, efficiencies, _levels(efficiencies))


def _levels(efficiencies: Mapping[str, Efficiency]) -> dict[str, float]:
    """Return the mean offset of each device over families, shrunk towards 0, the level of the fleet."""
    offsets: dict[str, list[tuple[float, float]]] = {}
    for model in efficiencies.values():
        for subject, coefficients in model.effects.coefficients.items():
            weight = model.rows[subject] / (model.rows[subject] + _ROWS_OF_HALF_WEIGHT)
            offsets.setdefault(subject.split("|")[0], []).append((coefficients[0], weight))
    return {
        name: sum(offset * weight for offset, weight in each) / (sum(weight for _, weight in each) + _FLEET_WEIGHT)
        for name, each in offsets.items()
    }
