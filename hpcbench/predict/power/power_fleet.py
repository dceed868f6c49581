"""The fleet of power models: those of all measured devices, and that of a device which was not measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.power import utilization
from hpcbench.predict.power.device_power import TYPICAL, DevicePower, Rows, fit_power, fit_steps

_MOST_ROWS = 3000  # of the operators of one device in the fit of coefficients
# The weights are assumptions: the configurations that the operators of one device count as, against the prior; how many
# times more the steps of networks count; and the strength of the prior, in configurations. Steps of networks last long
# enough for the sensor; readings of short kernels include what ran before them.
_CONFIGURATIONS = 30.0
_STEPS_COUNT = 3.0
_STRENGTH = 0.1


@dataclass(frozen=True)
class PowerFleet:
    """Models by the name of the device, and those of all other devices: for steps of networks, and for operators."""

    measured: Mapping[str, DevicePower]
    typical: DevicePower = TYPICAL
    typical_operators: DevicePower = TYPICAL

    def of(self, device: str) -> DevicePower:
        """Return the model of a device."""
        return self.measured.get(device, self.typical)

    def of_operators(self, device: str) -> DevicePower:
        """Return the model of operators on a device."""
        return self.measured.get(device, self.typical_operators)

    def to_json(self) -> dict[str, Any]:
        """Return the models as JSON types."""
        measured = {name: each.to_json() for name, each in sorted(self.measured.items())}
        return {
            "measured": measured,
            "typical": self.typical.to_json(),
            "typical_operators": self.typical_operators.to_json(),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> PowerFleet:
        """Return the models that `to_json` returned."""
        measured = {name: DevicePower.from_json(each) for name, each in stored["measured"].items()}
        typical = DevicePower.from_json(stored["typical"])
        return cls(measured, typical, DevicePower.from_json(stored["typical_operators"]))


def fit(
    steps: Mapping[str, Rows], operators: Mapping[str, Rows], fitted: Mapping[str, DevicePower] | None = None
) -> PowerFleet:
    """Return the models of the devices with measured steps of networks, or with measured operators.

    The typical model has coefficients from all devices, and the means of the devices' voltage curves, caps and times
    over clocks. That of operators has coefficients from operators, if there are any. The coefficients of devices with
    operators only shrink to the typical ones. `fitted` has models of devices with steps, as of `fit_steps`.
    """
    thinned = {name: thin(rows) for name, rows in operators.items()}
    known = fitted or {}
    by_steps = {name: known[name] if name in known else fit_steps(rows) for name, rows in steps.items()}
    counted = [(rows, _STEPS_COUNT * _CONFIGURATIONS) for rows in steps.values()]
    counted += [(rows, _CONFIGURATIONS) for rows in thinned.values()]
    typical = _typical(list(by_steps.values()), counted)
    of_operators = [(rows, _CONFIGURATIONS) for rows in thinned.values()]
    typical_operators = _typical(list(by_steps.values()), of_operators) if thinned else typical
    measured = dict(by_steps)
    for name, rows in thinned.items():
        measured.setdefault(name, fit_power(rows, typical))
    return PowerFleet(measured, typical, typical_operators)


def thin(rows: Rows, most: int = _MOST_ROWS) -> Rows:
    """Return at most so many rows, evenly chosen, that count as a fixed number of configurations."""
    step = max(1, int(np.ceil(len(rows.power) / most)))
    chosen = np.zeros(len(rows.power), dtype=bool)
    chosen[::step] = True
    kept = rows.where(chosen)
    return replace(kept, group=np.mod(np.arange(len(kept.power), dtype="float64"), _CONFIGURATIONS))


def _typical(fitted: list[DevicePower], rows: Iterable[tuple[Rows, float]]) -> DevicePower:
    """Return the model with coefficients from all rows, each device of which counts as so many configurations."""
    mean = _mean(fitted) if fitted else TYPICAL
    matrices, powers, weights = [], [], []
    for each, count in rows:
        matrices.append(utilization.terms(each.activity, each.time_s, each.clock, mean.voltage))
        powers.append(each.power)
        weights.append(each.weights / each.weights.sum() * count)
    if not powers:
        return mean
    found = utilization.fit(
        np.concatenate(matrices), np.concatenate(powers), np.concatenate(weights), utilization.PRIOR, _STRENGTH
    )
    return replace(mean, coefficients=found)


def _mean(fitted: list[DevicePower]) -> DevicePower:
    def mean(values: Iterable[float]) -> float:
        return float(np.mean(list(values)))

    curve = replace(
        TYPICAL.voltage,
        knee=mean(each.voltage.knee for each in fitted),
        floor=mean(each.voltage.floor for each in fitted),
    )
    steps = replace(
        TYPICAL.steps,
        coefficients=np.mean([each.steps.coefficients for each in fitted], axis=0),
        host_s=float(np.exp(mean(np.log(each.steps.host_s) for each in fitted))),
    )
    return DevicePower(TYPICAL.coefficients, curve, steps, mean(each.cap for each in fitted))


def rows_of(
    table: pd.DataFrame, activity: pd.DataFrame, boost_mhz: float, board_power_w: float, group: NDArray[Any]
) -> Rows:
    """Return the measurements of one device as fractions of its boost clock and board power.

    Rows without a locked clock ran at up to the boost clock.
    """
    clock = table["clock_mhz"].fillna(boost_mhz).to_numpy(dtype="float64") / boost_mhz
    return Rows(
        activity,
        table["time_s"].to_numpy(dtype="float64"),
        np.minimum(clock, 1.0),
        table["power_w"].to_numpy(dtype="float64") / board_power_w,
        group,
    )
