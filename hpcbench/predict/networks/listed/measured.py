"""The time of operators that were measured in a stream on the same device; others have the time of another model.

A network whose operators were all measured on a device is the sum of measured times.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.networks.listed.regular import RegularTime
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Estimate

_SPREAD = 0.05  # of the time of an operator between runs, as a logarithm
# What identifies an operator on a device. Gradients of products are products: the phase does not matter.
_KEY = ("device", "clock_mhz", "power_limit_w", "threads", *(name for name in table.WORK if name != "phase"))


@dataclass(frozen=True)
class MeasuredTime:
    """Measured times by key, and a model of all other operators."""

    others: RegularTime
    log_times: Mapping[str, float]  # of seconds

    def estimate(self, operators: pd.DataFrame, devices: Mapping[str, Device], in_stream: bool) -> Estimate:
        """Return the logarithms of the times in seconds: measured ones if `in_stream` and the operator is known."""
        found = self.others.estimate(operators, devices, in_stream)
        if not in_stream or not self.log_times:
            return found
        measured = keys(operators).map(dict(self.log_times)).to_numpy(dtype="float64", na_value=np.nan)
        known = np.isfinite(measured)
        return Estimate(
            log_value=np.where(known, measured, found.log_value),
            spread=np.where(known, _SPREAD, found.spread),
            reason=np.where(known, "", found.reason).astype(object),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the measured times as JSON types, without `others`."""
        return {"log_times": dict(self.log_times)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], others: RegularTime) -> MeasuredTime:
        """Return the model that `to_json` wrote. Raise KeyError if a field is missing."""
        return cls(others, data["log_times"])


def measured_times(operators: pd.DataFrame, devices: Collection[str], others: RegularTime) -> MeasuredTime:
    """Return the median times of the operators that were measured in a stream on some devices."""
    rows = operators[
        (operators["timing"] == table.STREAM) & operators["device"].isin(list(devices)) & (operators["time_s"] > 0)
    ]
    if rows.empty:
        return MeasuredTime(others, {})
    medians = rows["time_s"].groupby(keys(rows).to_numpy()).median()
    return MeasuredTime(others, {str(key): float(np.log(seconds)) for key, seconds in medians.items()})


def keys(operators: pd.DataFrame) -> pd.Series:
    """Return the key of each operator on its device, as text."""
    columns = [operators[name].map(_text) for name in _KEY]
    found = pd.Series("", index=operators.index, dtype="object")
    for column in columns:
        found = found + column + "|"
    return found


def _text(value: object) -> str:
    return value if isinstance(value, str) else f"{value:.8g}"
