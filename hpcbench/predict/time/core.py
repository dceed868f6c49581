"""The model before its calibration: floors of calls, and efficiencies of kernels by family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hpcbench.predict.tables.prediction import Floats
from hpcbench.predict.time import call_cost
from hpcbench.predict.time.efficiency import Efficiency, Size, fit_efficiency
from hpcbench.predict.time.families import borrowed
from hpcbench.predict.time.few_rows import SIZES, FewRows, Subjects, fit_few_rows
from hpcbench.predict.time.floors import Floors, fit_floors
from hpcbench.predict.time.prepared import Prepared
from hpcbench.predict.time.priors import BETWEEN, BORROWED, KNOWN_FLOOR_SPREAD, prior_values

# Assumptions, which matter for families with few rows of a measured device.
_ROWS_OF_HALF_WEIGHT = 3.0  # of a family's offset in the level of a device
_FLEET_WEIGHT = 0.5  # of the fleet in the level of a device, in families
_FEWEST = 30  # rows of a family for a model of its own
_LEAST_SPREAD = 0.02  # of an operator, as a logarithm


@dataclass(frozen=True)
class Core:
    """Floors, and efficiencies by family."""

    floors: Floors
    efficiencies: Mapping[str, Efficiency]
    levels: Mapping[str, float]  # of devices: what their offsets in all families have in common
    few: Mapping[str, FewRows] = field(default_factory=dict)  # by device with few rows: how it differs from the fleet

    def log_times(self, asked: Prepared) -> tuple[Floats, Floats]:
        """Return the logarithms of times in seconds, and the expected size of their errors."""
        log_floor, floor_spread = self._log_floor(asked)
        floor_s = asked.prior_s * np.exp(log_floor)
        log_efficiency, within = self.efficiency(asked)
        device_s = asked.bound_s * np.exp(log_efficiency)
        slope = call_cost.sensitivity(device_s, floor_s, asked.events_s)
        spread = np.hypot((1 - slope) * floor_spread, slope * within)
        return np.log(call_cost.measured(device_s, floor_s, asked.events_s)), np.maximum(spread, _LEAST_SPREAD)

    def efficiency(self, asked: Prepared) -> tuple[Floats, Floats]:
        """Return the logarithms of kernel time over bound, and their spread within and between devices."""
        log_efficiency = prior_values(asked.rows, "log_efficiency")
        correction, unknown = _corrections(self.few, asked, FewRows.kernel)
        spread = prior_values(asked.rows, "spread") * np.sqrt(1.0 - BETWEEN * (1.0 - unknown**2))
        wider = np.where(borrowed(asked.rows), BORROWED, 1.0)
        for family, model in self.efficiencies.items():
            of = (asked.family == family).to_numpy()
            if of.any():
                subjects = asked.subjects[of]
                level = np.asarray(asked.names[of].map(self.levels).fillna(0.0), dtype="float64")
                level = level * model.unknown_fraction(subjects)
                log_efficiency[of] = model.predict(asked.features[of], subjects) + level
                between = model.effects.deviations[0] * model.unknown_fraction(subjects) * unknown[of]
                spread[of] = np.hypot(model.spread, between)
                is_new = ~asked.precision[of].isin(model.precisions()).to_numpy()
                wider[of] = np.maximum(wider[of], 1.0 + (BORROWED - 1.0) * is_new * unknown[of])
        return log_efficiency + correction, wider * spread

    def unknown(self, asked: Prepared) -> Floats:
        """Return the deviation between devices that few rows of a device leave of that before: 1 without such rows."""
        return _corrections(self.few, asked, FewRows.kernel)[1]

    def prior_fraction(self, asked: Prepared) -> Floats:
        """Return how much the efficiency of each row depends on the prior: from 1 without measurements to 0.

        It is the fraction of the prior's variance that measurements of the device leave. Families with a model of
        their own do not depend on the prior.
        """
        return np.where(asked.family.isin(list(self.efficiencies)), 0.0, self.unknown(asked) ** 2)

    def _log_floor(self, asked: Prepared) -> tuple[Floats, Floats]:
        """Return the logarithms of floors over their priors, and their expected errors."""
        correction, unknown = _corrections(self.few, asked, FewRows.floor)
        spread = np.maximum(self.floors.spread(asked.names, asked.keys) * unknown, KNOWN_FLOOR_SPREAD)
        return self.floors.log_factor(asked.names, asked.keys) + correction, spread

    @classmethod
    def empty(cls) -> Core:
        """Return the model of the priors."""
        return cls(Floors({}, {}, {}), {}, {})

    def to_json(self) -> dict[str, Any]:
        """Return the model as JSON types."""
        efficiencies = {family: model.to_json() for family, model in self.efficiencies.items()}
        few = {name: each.to_json() for name, each in self.few.items()}
        return {
            "floors": self.floors.to_json(),
            "efficiencies": efficiencies,
            "levels": dict(self.levels),
            "few": few,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Core:
        """Return the model that `to_json` described."""
        efficiencies = {family: Efficiency.from_json(each) for family, each in data["efficiencies"].items()}
        few = {name: FewRows.from_json(each) for name, each in data["few"].items()}
        return cls(Floors.from_json(data["floors"]), efficiencies, data["levels"], few)


def fit_fleet(rows: Prepared, size: Size) -> Core:
    """Return the model of prepared rows with times; without rows, that of the priors."""
    if rows.rows.empty:
        return Core.empty()
    time_s = rows.rows["time_s"].to_numpy(dtype="float64")
    floors = fit_floors(rows.names, rows.keys, time_s, rows.bound_s, rows.prior_s)
    floor_s = rows.prior_s * np.exp(floors.log_factor(rows.names, rows.keys))
    device_s = call_cost.longest_kernel(time_s, floor_s, rows.events_s)
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


def with_few(fleet: Core, rows: Prepared) -> Core:
    """Return a model that the rows of each of their devices correct for this device only."""
    few = {}
    for name in sorted(rows.names.unique()):
        own = rows.select((rows.names == name).to_numpy())
        free_s = own.bound_s * np.exp(fleet.efficiency(own)[0])
        floor_s = own.prior_s * np.exp(fleet.floors.log_factor(own.names, own.keys))
        time_s = own.rows["time_s"].to_numpy(dtype="float64")
        few[str(name)] = fit_few_rows(_subjects(own), time_s, free_s, floor_s, own.events_s)
    return replace(fleet, few=few)


def _subjects(rows: Prepared) -> Subjects:
    family = rows.subject_families.to_numpy(dtype="object")
    sizes = np.nan_to_num(rows.features[list(SIZES)].to_numpy(dtype="float64"))
    return Subjects(family, rows.keys.to_numpy(dtype="object"), sizes)


def _corrections(
    few: Mapping[str, FewRows], asked: Prepared, of_device: Callable[[FewRows, Subjects], tuple[Floats, Floats]]
) -> tuple[Floats, Floats]:
    """Return what devices with few rows add to a logarithm, and its remaining deviation: 0 and 1 for others."""
    added, unknown = np.zeros(len(asked.rows)), np.ones(len(asked.rows))
    for name, each in few.items():
        of = (asked.names == name).to_numpy()
        if of.any():
            added[of], unknown[of] = of_device(each, _subjects(asked.select(of)))
    return added, unknown


def _levels(efficiencies: Mapping[str, Efficiency]) -> dict[str, float]:
    """Return the mean offset of each device over families, shrunk towards 0, the level of the fleet."""
    offsets: dict[str, list[tuple[float, float]]] = {}
    for model in efficiencies.values():
        for subject, coefficients in model.effects.coefficients.items():
            weight = model.rows[subject] / (model.rows[subject] + _ROWS_OF_HALF_WEIGHT)
            offsets.setdefault(subject.rpartition("|")[0], []).append((coefficients[0], weight))
    return {
        name: sum(offset * weight for offset, weight in each) / (sum(weight for _, weight in each) + _FLEET_WEIGHT)
        for name, each in offsets.items()
    }
