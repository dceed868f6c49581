"""The energy of operators on measured devices, learned from their shapes.

Time and power of the same row have errors in common, so that the energy is learned and calibrated as energy. It is
relative to the energy of the roofline's time at the board power.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.calibration.intervals import Calibration
from hpcbench.predict.calibration.stored import from_json, to_json
from hpcbench.predict.devices.device import Device
from hpcbench.predict.operators.features import features
from hpcbench.predict.operators.roofline import Bounds, bounds
from hpcbench.predict.operators.states import at_lower_clock, at_lower_power_limit
from hpcbench.predict.power.learned import SPREAD, Learned
from hpcbench.predict.tables.prediction import Floats

_LATENCY_S = 2e-6  # of the shortest kernels: graph replays of the public sets


@dataclass(frozen=True)
class OperatorEnergy:
    """Models by device, and the calibration of their intervals."""

    learned: Mapping[str, Learned] = field(default_factory=dict)
    calibration: Calibration | None = None

    def log_joules(self, rows: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
        """Return the logarithm of the energy of each row in joules; NaN if its kind was not measured on its device.

        The measurements are of default states: rows at lower clocks or power limits are NaN, too.
        """
        found = np.full(len(rows), np.nan)
        usual = ~(at_lower_clock(rows, devices) | at_lower_power_limit(rows, devices))
        for name, places in rows.groupby("device", observed=True).indices.items():
            asked = np.asarray(places)[usual[places]]
            if name in self.learned and len(asked):
                each = rows.iloc[asked]
                bound = bounds(each, devices)
                relative = self.learned[str(name)].log_value(features(each, devices, bound), each)
                found[asked] = relative + log_reference(bound, devices[str(name)])
        return found

    def half_width(self, rows: pd.DataFrame) -> Floats:
        """Return half the width of the 90 % intervals, as differences of logarithms; NaN without a calibration."""
        if self.calibration is None:
            return np.full(len(rows), np.nan)
        return self.calibration.half_width(rows["kind"], np.full(len(rows), SPREAD))

    def to_json(self) -> dict[str, Any]:
        """Return the models as JSON types."""
        return {
            "learned": {name: each.to_json() for name, each in sorted(self.learned.items())},
            "calibration": to_json(self.calibration) if self.calibration else None,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> OperatorEnergy:
        """Return the models that `to_json` returned."""
        learned = {name: Learned.from_json(each) for name, each in stored["learned"].items()}
        return cls(learned, from_json(stored["calibration"]) if stored["calibration"] else None)


def log_reference(bound: Bounds, device: Device) -> Floats:
    """Return the logarithm of the energy of the roofline's time at the board power, in joules."""
    return np.asarray(np.log((bound.soft_s() + _LATENCY_S) * device.board_power_w))
