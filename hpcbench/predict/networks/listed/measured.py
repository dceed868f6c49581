"""The time of operators that were measured in a stream on the same device; others have the time of another model.

A network whose operators were all measured on a device is the sum of measured times.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.networks.listed.regular import RegularTime
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Estimate

_SPREAD = 0.05  # of the time of an operator between runs, as a logarithm: an assumption
_SAME_STATE = 0.05  # relative difference of clocks, and of power limits, of one device state: an assumption
# What identifies an operator on a device. Gradients of products are products: the phase does not matter.
_KEY = ("device", "threads", *(name for name in table.WORK if name != "phase"))
_STATE = ("clock_mhz", "power_limit_w")
_SEPARATOR = "|"  # of the parts of a key, of which the device is the first


@dataclass(frozen=True)
class Measured:
    """The time of an operator in one state of its device. A clock or limit of NaN is unknown."""

    clock_mhz: float
    power_limit_w: float
    log_s: float


@dataclass(frozen=True)
class MeasuredTime:
    """Measured times by key, and a model of all other operators."""

    others: RegularTime
    times: Mapping[str, tuple[Measured, ...]]

    def estimate(self, operators: pd.DataFrame, devices: Mapping[str, Device], in_stream: bool) -> Estimate:
        """Return the logarithms of the times in seconds: measured ones if `in_stream` and the operator is known.

        An operator without a clock or power limit is asked for in the state with the highest one.
        """
        found = self.others.estimate(operators, devices, in_stream)
        if not in_stream or not self.times:
            return found
        states = operators[list(_STATE)].to_numpy(dtype="float64")
        measured = np.array(
            [
                _log_s(self.times.get(key, ()), *state)
                for key, state in zip(keys(operators), states.tolist(), strict=True)
            ]
        )
        known = np.isfinite(measured)
        return Estimate(
            log_value=np.where(known, measured, found.log_value),
            spread=np.where(known, _SPREAD, found.spread),
            reason=np.where(known, "", found.reason).astype(object),
        )

    @property
    def devices(self) -> frozenset[str]:
        """Return the devices with measured times."""
        return frozenset(key.rsplit(_SEPARATOR, len(_KEY) - 1)[0] for key in self.times)

    def to_json(self) -> dict[str, Any]:
        """Return the measured times as JSON types, without `others`: clock, limit and logarithm of seconds by key."""
        return {key: [[_null(v) for v in astuple(each)] for each in found] for key, found in self.times.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], others: RegularTime) -> MeasuredTime:
        """Return the model that `to_json` wrote."""
        times = {key: tuple(Measured(*(_number(v) for v in each)) for each in found) for key, found in data.items()}
        return cls(others, times)


def measured_times(operators: pd.DataFrame, devices: Collection[str], others: RegularTime) -> MeasuredTime:
    """Return the times of the operators that were measured in a stream on some devices."""
    rows = operators[
        (operators["timing"] == table.STREAM) & operators["device"].isin(list(devices)) & (operators["time_s"] > 0)
    ]
    if rows.empty:
        return MeasuredTime(others, {})
    found: dict[str, list[Measured]] = {}
    values = rows[list(_STATE)].assign(log_s=np.log(rows["time_s"])).to_numpy(dtype="float64").tolist()
    for key, (clock_mhz, power_limit_w, log_s) in zip(keys(rows), values, strict=True):
        found.setdefault(key, []).append(Measured(clock_mhz, power_limit_w, log_s))
    return MeasuredTime(others, {key: tuple(each) for key, each in found.items()})


def keys(operators: pd.DataFrame) -> list[str]:
    """Return the key of each operator on its device, as text."""
    rows = operators[list(_KEY)].to_dict("list")
    return [_SEPARATOR.join(map(_text, each)) for each in zip(*rows.values(), strict=True)]


def _log_s(known: tuple[Measured, ...], clock_mhz: float, power_limit_w: float) -> float:
    """Return the median logarithm of the times in a state; NaN if the operator was not measured in it."""
    in_clock = _alike([each.clock_mhz for each in known], clock_mhz)
    in_limit = _alike([each.power_limit_w for each in known], power_limit_w)
    found = [each.log_s for each, a, b in zip(known, in_clock, in_limit, strict=True) if a and b]
    return float(np.median(found)) if found else math.nan


def _alike(values: list[float], wanted: float) -> list[bool]:
    """Return which values are those of the wanted state, or of the highest one if `wanted` is NaN."""
    finite = [value for value in values if math.isfinite(value)]
    target = max(finite, default=math.nan) if math.isnan(wanted) else wanted
    return [not math.isfinite(value) or abs(value - target) <= _SAME_STATE * target for value in values]


def _text(value: object) -> str:
    return value if isinstance(value, str) else f"{value:.8g}"


def _null(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: float | None) -> float:
    return math.nan if value is None else value
