"""The power model of one device: coefficients of utilizations, voltage curve, time over clocks, and power limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.power import step_time, utilization, voltage
from hpcbench.predict.power.given_time import GivenTime
from hpcbench.predict.power.operating_point import LOWEST_CLOCK, OperatingPoint, settle
from hpcbench.predict.power.step_time import StepTime
from hpcbench.predict.power.utilization import LIMITED
from hpcbench.predict.power.voltage import Voltage
from hpcbench.predict.tables.prediction import Floats

# Mean power of a limited device, as a fraction of its limit: that of the public set with several clocks, rounded.
TYPICAL_CAP = 0.965
_FEWEST_LIMITED = 3  # rows at the limit that a device's own cap needs
_FEWEST_CLOCKS = 4  # clocks that a device's own voltage curve and clock tree need
_TIME_STRENGTH, _POWER_STRENGTH = 0.3, 0.03  # of the priors, in configurations: chosen by leaving one network out


@dataclass(frozen=True)
class DevicePower:
    """What decides time and power of one device, relative to its board power and its boost clock."""

    coefficients: Floats
    voltage: Voltage = voltage.TYPICAL
    steps: StepTime = step_time.TYPICAL
    cap: float = TYPICAL_CAP

    def power(self, activity: pd.DataFrame, time_s: Floats, clock: Floats) -> Floats:
        """Return the power as a fraction of the board power, without regard to limits."""
        found: Floats = utilization.terms(activity, time_s, clock, self.voltage) @ self.coefficients
        return found

    def run(
        self,
        activity: pd.DataFrame,
        clock: Floats,
        limit: Floats,
        given: GivenTime | None = None,
        lowest: float = LOWEST_CLOCK,
    ) -> OperatingPoint:
        """Return clock, time and power of steps at requested clocks and limits, as fractions.

        A limit lowers the clock down to `lowest`, below which the device throttles. With `given`, the times at the
        boost clock are known, and only their ratio over clocks is predicted.
        """
        full = np.ones(len(activity))
        launches = None if given is None else given.launches
        factor = full if given is None else given.seconds / self.steps.seconds(activity, full, launches)

        def time_at(at: Floats) -> Floats:
            return factor * self.steps.seconds(activity, at, launches)

        def power_at(time_s: Floats, at: Floats) -> Floats:
            return self.power(activity, time_s, at)

        return settle(time_at, power_at, clock, self.cap * limit, lowest)

    def to_json(self) -> dict[str, Any]:
        """Return the model as JSON types."""
        return {
            "coefficients": [float(each) for each in self.coefficients],
            "voltage": {"knee": self.voltage.knee, "floor": self.voltage.floor},
            "steps": [float(each) for each in self.steps.coefficients],
            "host_s": self.steps.host_s,
            "cap": self.cap,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> DevicePower:
        """Return the model that `to_json` returned."""
        return cls(
            np.array(stored["coefficients"], dtype="float64"),
            Voltage(**stored["voltage"]),
            StepTime(np.array(stored["steps"], dtype="float64"), float(stored["host_s"])),
            float(stored["cap"]),
        )


TYPICAL = DevicePower(utilization.PRIOR)


@dataclass(frozen=True)
class Rows:
    """Measurements of one device: activities, times, clocks and powers as fractions, and equal weights by group."""

    activity: pd.DataFrame
    time_s: Floats
    clock: Floats
    power: Floats
    group: NDArray[Any]  # code of the configuration: its rows count as one

    @property
    def weights(self) -> Floats:
        """Return the weights of rows: those of one configuration sum to 1."""
        _, code, counts = np.unique(self.group, return_inverse=True, return_counts=True)
        return 1.0 / counts[code]

    def where(self, mask: np.ndarray) -> Rows:
        """Return some of the rows."""
        return Rows(self.activity[mask], self.time_s[mask], self.clock[mask], self.power[mask], self.group[mask])


def fit_steps(rows: Rows, prior: DevicePower = TYPICAL) -> DevicePower:
    """Return the model of a device with whole steps; rows at the power limit only give the limit, not the clock."""
    own_cap = rows.power[rows.power > LIMITED]
    cap = float(np.median(own_cap)) if len(own_cap) >= _FEWEST_LIMITED else prior.cap
    free = rows.where(rows.power <= LIMITED)
    if len(free.power) == 0:
        return replace(prior, cap=cap)
    steps = step_time.fit(free.activity, free.time_s, free.clock, free.weights, _TIME_STRENGTH)
    curves = voltage.CURVES if len(np.unique(free.clock)) >= _FEWEST_CLOCKS else (prior.voltage,)
    tried = [fit_power(free, replace(prior, voltage=curve, steps=steps, cap=cap)) for curve in curves]
    return min(tried, key=lambda each: _shape_error(each, free))


def fit_power(rows: Rows, prior: DevicePower) -> DevicePower:
    """Return the model with coefficients from rows with measured times, and all else from `prior`."""
    matrix = utilization.terms(rows.activity, rows.time_s, rows.clock, prior.voltage)
    found = utilization.fit(matrix, rows.power, rows.weights, prior.coefficients, _POWER_STRENGTH)
    return replace(prior, coefficients=found)


def _shape_error(model: DevicePower, rows: Rows) -> float:
    """Return the mean error of the power over clocks, after the median error of each configuration."""
    error = pd.Series(np.log(rows.power / model.power(rows.activity, rows.time_s, rows.clock)))
    rest = error - error.groupby(rows.group).transform("median")
    return float(np.average(np.abs(rest), weights=rows.weights)) + 0.1 * float(np.mean(np.abs(error)))
