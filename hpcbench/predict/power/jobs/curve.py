"""Time and power of a training job over power limits, relative to its run without a limit.

A limit lowers the clock f until the power is within it:

    time(f) = 1 - share + share / f
    power(f) = idle + (demand - idle) ((1 - memory) V(f)^2 + memory) / time(f)

`share` is the fraction of the time that scales with the clock, `demand` the power without a limit as a fraction of the
board power, and `memory` the fraction of the dynamic energy that the core voltage does not change. V is the voltage
curve. Same physics as `utilization`, for jobs whose operators are unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from hpcbench.predict.power.operating_point import OperatingPoint, settle
from hpcbench.predict.power.voltage import Voltage
from hpcbench.predict.tables.prediction import Floats

_SWEEPS = 4  # over all parameters, at most


@dataclass(frozen=True)
class JobCurve:
    """The parameters of one device, or of all devices.

    The defaults are assumptions for devices without measurements. Fits on the two devices of the public sets keep them,
    except `share` (0.5 and 0.6), `cap` (0.96) and the knee of one device (0.70).
    """

    share: float = 0.8
    idle: float = 0.15
    memory: float = 0.2
    knee: float = 0.60
    floor: float = 0.71
    cap: float = 0.98  # mean power of a limited device, as a fraction of its limit

    def run(self, demand: Floats, limit: Floats) -> OperatingPoint:
        """Return clock, relative time and power for demands and limits as fractions of the board power."""
        voltage = Voltage(self.knee, self.floor)
        dynamic = np.maximum(demand - self.idle, 0.0)

        def time_at(clock: Floats) -> Floats:
            return 1.0 - self.share + self.share / clock

        def power_at(time: Floats, clock: Floats) -> Floats:
            squared = voltage.relative(clock) ** 2
            return np.minimum(self.idle, demand) + dynamic * ((1 - self.memory) * squared + self.memory) / time

        return settle(time_at, power_at, np.ones(len(demand)), self.cap * limit)

    def to_json(self) -> dict[str, Any]:
        """Return the parameters as JSON types."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> JobCurve:
        """Return the parameters that `to_json` returned."""
        return cls(**{name: float(value) for name, value in stored.items()})


# What a fit tries for each parameter, and the mean error that a deviation of one step from the prior must save.
_TRIED = {
    "share": (0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    "idle": (0.06, 0.1, 0.15, 0.2, 0.25),
    "memory": (0.0, 0.1, 0.2, 0.3, 0.4),
    "knee": (0.4, 0.5, 0.6, 0.7, 0.8),
    "floor": (0.6, 0.65, 0.71, 0.76, 0.81),
    "cap": (0.94, 0.96, 0.98, 1.0),
}
_DOUBT = 0.001
# Demand, as a fraction of the board power, from which on limits matter. Jobs of the public sets that wait for data need
# at most 0.27, and all others at least 0.83.
_LIMITABLE = 0.5


@dataclass(frozen=True)
class LimitedRuns:
    """Runs of jobs under limits: demand and limit as fractions of the board power, time over that without a limit."""

    demand: Floats
    limit: Floats
    time: Floats
    power: Floats

    def where(self, mask: np.ndarray) -> LimitedRuns:
        """Return some of the runs."""
        return LimitedRuns(**{each.name: getattr(self, each.name)[mask] for each in fields(self)})

    def joined(self, other: LimitedRuns) -> LimitedRuns:
        """Return the runs of both."""
        pairs = {each.name: (getattr(self, each.name), getattr(other, each.name)) for each in fields(self)}
        return LimitedRuns(**{name: np.concatenate(both) for name, both in pairs.items()})


def fit(runs: LimitedRuns, prior: JobCurve) -> JobCurve:
    """Return the parameters with about the least error of time and energy: each is varied in turn over few values.

    Jobs whose power stays below all limits have no information on limits, and do not count.
    """
    runs = runs.where(runs.demand >= _LIMITABLE)
    if not len(runs.time):
        return prior
    best, least = prior, _cost(prior, runs, prior)
    for _ in range(_SWEEPS):
        before = best
        for name, values in _TRIED.items():
            for value in values:
                tried = replace(best, **{name: value})
                cost = _cost(tried, runs, prior)
                if cost < least:
                    best, least = tried, cost
        if best == before:
            break
    return best


def _cost(curve: JobCurve, runs: LimitedRuns, prior: JobCurve) -> float:
    point = curve.run(runs.demand, runs.limit)
    time, power = np.log(runs.time / point.time_s), np.log(runs.power / point.power)
    steps = sum(
        abs(getattr(curve, name) - getattr(prior, name)) / (values[1] - values[0]) for name, values in _TRIED.items()
    )
    return float(np.sqrt(np.mean(time**2)) + np.sqrt(np.mean((time + power) ** 2)) + _DOUBT * steps)
