"""The ratio of the energy of a device in a state, such as a lower clock, to that in its default state.

Both predictions share most of their errors: those of the network, of the default time, and of the power at it. What is
left grows with the distance of the states, which is the growth of the time and the fall of the power, as logarithms.
The interval is calibrated on runs of the same work in several states of a device, whose network, or device, a fit did
not see. Networks whose kernels the host launches too slowly have an interval of their own: their time varies with the
host.

The best state is that of the lowest predicted energy, and the lowest of many predictions is too low on average
("winner's curse", J. Smith and R. Winkler, "The optimizer's curse", Management Science 52, 2006). The errors of the
states that predictions select therefore count as a calibration of their own, and the wider one is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.calibration.intervals import ALL, Calibration, calibrated
from hpcbench.predict.calibration.stored import all_from_json, all_to_json
from hpcbench.predict.choice.ratios import Ratio
from hpcbench.predict.tables.prediction import Floats

SEEN, UNSEEN = "seen", "unseen"  # whether states of the device are in the data
LAUNCHES, KERNELS = "launches", "kernels"  # groups of work by what decides the time: the host, or the device
# Expected error of a ratio: at no distance, and for each unit of distance. Assumptions, which calibrations scale.
_LEAST, _GROWTH = 0.05, 0.05
# Without any data: rounded, from the public sets that docs/reference/predictor-data.md documents.
_PRIOR = Calibration(0, 0.10, {ALL: 2.5})


@dataclass(frozen=True)
class StateErrors:
    """How far predicted ratios of energies between states of one device are off.

    `devices` are those with measured states. `calibrations` are by SEEN and UNSEEN.
    """

    devices: frozenset[str] = frozenset()
    calibrations: Mapping[str, Calibration] | None = None

    def half_width(self, device: str, group: str, log_time: float, log_power: float) -> float:
        """Return half the 90 % interval of the ratio, for logarithms of the ratios of time and power of the states."""
        known = self.calibrations or {}
        unseen = known.get(UNSEEN, _PRIOR)
        calibration = known.get(SEEN, unseen) if device in self.devices else unseen
        spread = _spread(np.array([log_time]), np.array([log_power]))
        return float(calibration.half_width(pd.Series([group]), spread)[0])

    def of(self, devices: Iterable[str]) -> StateErrors:
        """Return the same errors, for devices with measured states that have these names."""
        return replace(self, devices=frozenset(devices))

    def to_json(self) -> dict[str, Any]:
        """Return the errors as JSON types."""
        return {"devices": sorted(self.devices), "calibrations": all_to_json(self.calibrations or {})}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> StateErrors:
        """Return the errors that `to_json` returned."""
        return cls(frozenset(stored["devices"]), all_from_json(stored["calibrations"]))


def calibration_of(errors: pd.DataFrame, shared: bool) -> Calibration | None:
    """Return the calibration of ratios of energies from the errors of predicted energies; None without two states.

    `errors` has the columns `error` (logarithm of measured over predicted energy), `log_time` and `log_power`
    (predicted), `item` (what ran on which device: its rows differ in their states only), `cluster` (what the fit did
    not see), `group` (LAUNCHES or KERNELS) and `height` (clock or limit). The state with the largest height is the
    default one. See `calibrated` for `shared`.
    """
    usable = errors.dropna(subset=["error", "log_time", "log_power"])
    ordered = usable.sort_values("height", ascending=False, kind="stable")
    usual = ordered.drop_duplicates("item").set_index("item")
    others = ordered[ordered.duplicated("item")]
    if others.empty:
        return None
    changes = _changes(others, usual)
    selected = changes.sort_values("log_energy", kind="stable").drop_duplicates("item")
    selected = selected[selected["log_energy"] < 0.0]
    fixed = calibrated(changes, shared)
    return fixed if selected.empty else _widened(fixed, calibrated(selected, shared))


def _changes(others: pd.DataFrame, usual: pd.DataFrame) -> pd.DataFrame:
    """Return how far states of items are from the default state of the item: errors, spreads and predicted energies."""
    change = {
        name: others[name].to_numpy(dtype="float64") - usual[name].reindex(others["item"]).to_numpy(dtype="float64")
        for name in ("error", "log_time", "log_power")
    }
    labels = {name: others[name].to_numpy() for name in ("group", "cluster", "item")}
    spread = _spread(change["log_time"], change["log_power"])
    energy = change["log_time"] + change["log_power"]
    return pd.DataFrame({"error": change["error"], "spread": spread, "log_energy": energy, **labels})


def _widened(fixed: Calibration, selected: Calibration) -> Calibration:
    """Return the wider of two calibrations; groups with too few selected states keep their quantile."""
    quantiles = {
        name: value if name == ALL else max(value, selected.quantiles.get(name, value))
        for name, value in fixed.quantiles.items()
    }
    return replace(fixed, cluster=max(fixed.cluster, selected.cluster), quantiles=quantiles)


def state_ratio(
    state: tuple[float, float], default: tuple[float, float], device: str, group: str, errors: StateErrors
) -> Ratio:
    """Return the energy in a state over that in the default state. Both are pairs of a time and an energy."""
    (time, energy), (usual_time, usual_energy) = state, default
    log_time, log_energy = math.log(time / usual_time), math.log(energy / usual_energy)
    half = errors.half_width(device, group, log_time, log_energy - log_time)
    return Ratio(math.exp(log_energy), math.exp(log_energy - half), math.exp(log_energy + half))


def _spread(log_time: Floats, log_power: Floats) -> Floats:
    return _LEAST + _GROWTH * np.maximum(log_time - log_power, 0.0)
