"""Power and energy of single operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.calibration.intervals import ALL, Calibration, Expected, calibrated
from hpcbench.predict.calibration.stored import all_from_json, all_to_json
from hpcbench.predict.devices.device import Device
from hpcbench.predict.operators.device_columns import of_rows
from hpcbench.predict.operators.features import features
from hpcbench.predict.operators.roofline import bounds
from hpcbench.predict.operators.states import lowered
from hpcbench.predict.power import carried, learned
from hpcbench.predict.power import power_fleet as fleets
from hpcbench.predict.power.activity import activity
from hpcbench.predict.power.device_power import Rows
from hpcbench.predict.power.learned import Learned
from hpcbench.predict.power.operator_energy import OperatorEnergy, log_reference
from hpcbench.predict.power.power_fleet import PowerFleet
from hpcbench.predict.tables.operators import ATTENTION, ATTENTION_DECODE
from hpcbench.predict.tables.prediction import Estimate, Floats

SEEN, UNSEEN = "seen", "unseen"
# Expected error of the logarithm of the power without any data: an assumption, to which _PRIOR below is relative.
PRIOR_SPREAD = 0.38
_SPREAD = {SEEN: learned.SPREAD, UNSEEN: PRIOR_SPREAD}
# Effects of devices on the power of operators: the public sets have two devices, whose effects differ by about 0.2.
_OF_DEVICES = Expected(0.15, 4.0)
_MOST_CALIBRATED = 6000  # rows of one device whose errors calibrate the intervals
_IMPOSSIBLE = 1.2  # times the board power: sensors are wrong, or the description is
_LEAST_POWER = 1e-3  # over the board power, so that the logarithm of a power exists


@dataclass(frozen=True)
class OperatorPower:
    """Power of operators: by utilization on any device, and by shape on the devices with measured operators."""

    fleet: PowerFleet
    learned: Mapping[str, Learned] = field(default_factory=dict)
    calibrations: Mapping[str, Calibration] = field(default_factory=dict)  # by SEEN and UNSEEN
    energy: OperatorEnergy = field(default_factory=OperatorEnergy)
    carried: Learned | None = None  # errors of utilization by shape, on all measured devices

    def estimate(self, rows: pd.DataFrame, devices: Mapping[str, Device], time_s: Floats) -> Estimate:
        """Return the power in watts of operators that take these times in seconds, measured or predicted."""
        described = rows["device"].isin(set(devices)).to_numpy()
        reason = np.where(described, "", "the device has no description")
        reason = np.where((reason == "") & ~(time_s > 0), "the time is unknown", reason).astype(object)
        log_value = np.full(len(rows), np.nan)
        for name, places in rows.groupby("device", observed=True).indices.items():
            usable = np.asarray(places)[reason[places] == ""]
            if len(usable):
                log_value[usable] = self._log_watts(str(name), rows.iloc[usable], devices, time_s[usable])
        return Estimate(log_value, self.spread(rows), reason)

    def spread(self, rows: pd.DataFrame) -> Floats:
        """Return the expected error of the logarithm of the power of each row."""
        return np.where(self._by_shape(rows), _SPREAD[SEEN], _SPREAD[UNSEEN])

    def half_width(self, rows: pd.DataFrame) -> Floats:
        """Return half the width of the 90 % intervals of the power, as differences of logarithms."""
        seen, spread = self._by_shape(rows), self.spread(rows)
        widths = {name: _width(self.calibrations.get(name), rows["kind"], spread) for name in (SEEN, UNSEEN)}
        return np.asarray(np.where(seen, widths[SEEN], widths[UNSEEN]), dtype="float64")

    def elasticity(
        self, rows: pd.DataFrame, devices: Mapping[str, Device], time_s: Floats, time_half_width: Floats
    ) -> Floats:
        """Return how much the logarithm of the power changes per change of that of the time, from -1 to 0.

        An operator that takes longer switches as often, so that its power falls, and its energy grows only by that of
        idle units. The change is the mean over the interval of the time; it is 0 for kinds that were measured on their
        device, whose power is predicted from shapes, for operators that the power limit slows down, and without data:
        errors of the priors of time and power do not balance.
        """
        found = np.zeros(len(rows))
        fitted = UNSEEN in self.calibrations
        depends = ~self._by_shape(rows) & (time_half_width > 0) & fitted
        if depends.any():
            asked, half = rows[depends], time_half_width[depends]
            fast, slow = (
                self.estimate(asked, devices, time_s[depends] * np.exp(sign * half)).log_value for sign in (-1.0, 1.0)
            )
            found[depends] = np.clip((slow - fast) / (2.0 * half), -1.0, 0.0)
        return found

    def _by_shape(self, rows: pd.DataFrame) -> NDArray[np.bool_]:
        """Return which rows have a kind that was measured on their device, so that their shapes decide."""
        found = np.zeros(len(rows), dtype=bool)
        for name, places in rows.groupby("device", observed=True).indices.items():
            if name in self.learned:
                found[places] = self.learned[str(name)].covers(rows.iloc[places])
        return found

    def _log_watts(self, name: str, rows: pd.DataFrame, devices: Mapping[str, Device], time_s: Floats) -> Floats:
        device = devices[name]
        limit = limits_w(rows, devices) / device.board_power_w
        clock = np.minimum(rows["clock_mhz"].fillna(device.boost_mhz).to_numpy(dtype="float64") / device.boost_mhz, 1.0)
        model = self.fleet.of_operators(name)
        work = activity(rows, devices)

        def log_power_at(clock: Floats) -> Floats:
            return np.log(np.maximum(model.power(work, time_s, clock), _LEAST_POWER))

        log_power = log_power_at(clock)
        own = self._by_shape(rows)
        if own.any():
            by_shape = self.learned[name].log_value(features(rows, devices, bounds(rows, devices)), rows)
            # The measurements are at the boost clock; utilization gives the ratio of clocks.
            log_power = np.where(own, by_shape + log_power - log_power_at(np.ones(len(rows))), log_power)
        log_power = log_power + np.where(own, 0.0, carried.correction(self.carried, rows, devices))
        return np.asarray(np.log(device.board_power_w) + np.minimum(log_power, np.log(model.cap * limit)))

    def to_json(self) -> dict[str, Any]:
        """Return the learned models and the calibrations as JSON types; the fleet is stored once for all models."""
        return {
            "learned": {name: each.to_json() for name, each in sorted(self.learned.items())},
            "calibrations": all_to_json(self.calibrations),
            "energy": self.energy.to_json(),
            "carried": self.carried.to_json() if self.carried else None,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], fleet: PowerFleet) -> OperatorPower:
        """Return the model that `to_json` returned."""
        return cls(
            fleet,
            {name: Learned.from_json(each) for name, each in stored["learned"].items()},
            all_from_json(stored["calibrations"]),
            OperatorEnergy.from_json(stored["energy"]),
            Learned.from_json(stored["carried"]) if stored["carried"] else None,
        )


def limits_w(rows: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
    """Return the power limit of each row in watts: its own, at most the board power; NaN for unknown devices."""
    board = of_rows(rows, devices, lambda device: device.board_power_w)
    own = rows["power_limit_w"].to_numpy(dtype="float64")
    return np.where(np.isnan(own), board, np.minimum(own, board))


def usable(rows: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
    """Return the rows with a power and a time on a described device, at most 1.2 times the board power.

    Products in data types without a rate, such as float64, are left out: their utilization is unknown.
    """
    known = rows[rows["device"].isin(set(devices)) & (rows["power_w"] > 0) & (rows["time_s"] > 0)]
    board = of_rows(known, devices, lambda device: device.board_power_w)
    has_rate = np.isfinite(bounds(known, devices).compute_s)
    return known[(known["power_w"] / board < _IMPOSSIBLE).to_numpy() & has_rate]


def measured_rows(rows: pd.DataFrame, devices: Mapping[str, Device]) -> dict[str, Rows]:
    """Return the measurements of operators by device."""
    found = {}
    for name, each in usable(rows, devices).groupby("device", observed=True):
        device = devices[str(name)]
        group = np.arange(len(each), dtype="float64")
        work = activity(each, devices)
        found[str(name)] = fleets.rows_of(each, work, device.boost_mhz, device.board_power_w, group)
    return found


def fit(
    rows: pd.DataFrame, devices: Mapping[str, Device], fleet: PowerFleet, without: Mapping[str, PowerFleet]
) -> OperatorPower:
    """Return the model of operators. `without` has, by device, the fleet that was fitted without this device."""
    known = usable(rows, devices)
    powers: dict[str, Learned] = {}
    energies: dict[str, Learned] = {}
    of_powers, of_energies, unseen = [], [], []
    # The models that learn from shapes have neither a clock nor a power limit.
    usual = known[~lowered(known, devices)]
    for name, each in usual.groupby("device", observed=True):
        bound, watts = bounds(each, devices), each["power_w"].to_numpy(dtype="float64")
        shapes = features(each, devices, bound)
        log_power = np.log(watts / devices[str(name)].board_power_w)
        log_energy = np.log(watts * each["time_s"].to_numpy(dtype="float64"))
        relative = log_energy - log_reference(bound, devices[str(name)])
        model = learned.fit(shapes, each, log_power)
        if model.models:
            powers[str(name)], energies[str(name)] = model, learned.fit(shapes, each, relative)
            of_powers.append(learned.left_out_errors(shapes, each, log_power))
            of_energies.append(learned.left_out_errors(shapes, each, relative))
        if str(name) in without:
            others = _utilized(usual[usual["device"] != name], devices, without[str(name)])
            unseen.append(_unseen(each, devices, others))
    calibrations = {
        name: calibrated(errors, shared=name == UNSEEN, expected=_OF_DEVICES)
        for name, errors in ((SEEN, _pooled(of_powers)), (UNSEEN, _pooled(unseen)))
        if not errors.empty
    }
    energy = _calibrated_energy(energies, _pooled(of_energies))
    return OperatorPower(fleet, powers, calibrations, energy, _utilized(usual, devices, fleet).carried)


def _pooled(errors: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(errors) if errors else pd.DataFrame()


def _calibrated_energy(models: Mapping[str, Learned], errors: pd.DataFrame) -> OperatorEnergy:
    """Return the models of energies; without errors for intervals, energies are products of power and time."""
    return OperatorEnergy() if errors.empty else OperatorEnergy(models, calibrated(errors, shared=False))


def _utilized(rows: pd.DataFrame, devices: Mapping[str, Device], fleet: PowerFleet) -> OperatorPower:
    """Return the model of devices without measured shapes: by utilization, and what shapes of these rows add to it.

    The errors of the rows are those with the coefficients of their own devices, which have the effects of devices.
    """
    predicted = OperatorPower(fleet).estimate(rows, devices, rows["time_s"].to_numpy(dtype="float64")).log_value
    error = np.log(rows["power_w"].to_numpy(dtype="float64")) - predicted
    return OperatorPower(fleet, carried=carried.fit(rows, devices, error))


def _unseen(rows: pd.DataFrame, devices: Mapping[str, Device], model: OperatorPower) -> pd.DataFrame:
    kept = rows.iloc[:: max(1, len(rows) // _MOST_CALIBRATED)]
    time_s = kept["time_s"].to_numpy(dtype="float64")
    predicted = model.estimate(kept, devices, time_s).log_value
    error = np.log(kept["power_w"].to_numpy(dtype="float64")) - predicted
    labels = {"group": kept["kind"].to_numpy(), "cluster": kept["device"].to_numpy()}
    return pd.DataFrame({"error": error, "spread": _SPREAD[UNSEEN], **labels})


# Factors of the expected error without data, from the public sets that docs/reference/predictor-data.md documents.
_PRIOR = Calibration(0, 0.0, {ATTENTION: 2.7, ATTENTION_DECODE: 2.7, ALL: 2.1})


def _width(calibration: Calibration | None, kinds: pd.Series, spread: Floats) -> Floats:
    if calibration is None:
        return _PRIOR.half_width(kinds, np.maximum(spread, PRIOR_SPREAD))
    return calibration.half_width(kinds, spread)
