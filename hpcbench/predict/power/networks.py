"""Time, power and energy of steps of networks whose operators are known, over clocks and power limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.calibration.intervals import Calibration, calibrated
from hpcbench.predict.calibration.stored import all_from_json, all_to_json
from hpcbench.predict.devices.device import Device
from hpcbench.predict.power import power_fleet as fleets
from hpcbench.predict.power.activity import COLUMNS, of_lists
from hpcbench.predict.power.device_power import DevicePower, Rows, fit_steps
from hpcbench.predict.power.given_time import GivenTime
from hpcbench.predict.power.operating_point import OUT_OF_REACH, lowest_clock
from hpcbench.predict.power.operators import SEEN, UNSEEN
from hpcbench.predict.power.power_fleet import PowerFleet
from hpcbench.predict.tables import networks as table
from hpcbench.predict.tables.prediction import ENERGY, POWER, QUANTITIES, TIME, Estimate, Floats

WITHOUT_CLOCK = "the clock or the power limit is not above 0"
# Expected errors of logarithms of a network on a device with measured networks, and on others.
SPREAD = {SEEN: 0.10, UNSEEN: 0.30}
# Half the widths of intervals without a calibration, from the sets that docs/reference/predictor-data.md documents.
_PRIOR_HALF = {SEEN: 0.25, UNSEEN: 0.51}
# What a configuration is: its rows differ in clocks and limits only.
CONFIGURATION = ("network", "phase", "dtype", "layout", "batch_size", "sequence_length", "image_size")


@dataclass(frozen=True)
class NetworkPower:
    """Steps of networks with operator lists. `calibrations` are by quantity, of devices with measured networks."""

    fleet: PowerFleet
    devices: frozenset[str] = frozenset()  # those with measured networks
    calibrations: Mapping[str, Calibration] = field(default_factory=dict)

    def estimate(
        self,
        networks: pd.DataFrame,
        activity: pd.DataFrame,
        devices: Mapping[str, Device],
        time: GivenTime | None = None,
    ) -> dict[str, Estimate]:
        """Return the time in seconds, power in watts and energy in joules of a step of each row, by quantity.

        `activity` has one row per network, as `activity.of_lists` returns it. `clock_mhz` and `power_limit_w` of the
        networks apply, and are the boost clock and the board power if NaN. With `time`, times at the boost clock
        without a limit are given, as from a model of time, and only their ratio over clocks is predicted: from the
        launches that are given with the times, or from those of the device's model of steps.
        """
        reason = reasons(networks, activity, devices, time)
        found = {quantity: np.full(len(networks), np.nan) for quantity in QUANTITIES}
        for name, places in networks.groupby("device", observed=True).indices.items():
            usable = np.asarray(places)[reason[places] == ""]
            if not len(usable):
                continue
            device = devices[str(name)]
            given = None if time is None else time.at(usable)
            clock, limit = settings(networks.iloc[usable], device)
            own = self.fleet.of(str(name))
            point = own.run(activity.iloc[usable], clock, limit, given, lowest_clock(device))
            limited = networks["power_limit_w"].iloc[usable].notna().to_numpy()
            reason[usable[limited & ~point.in_reach]] = OUT_OF_REACH
            watts = point.power * device.board_power_w
            for quantity, values in zip(QUANTITIES, (point.time_s, watts, watts * point.time_s), strict=True):
                found[quantity][usable] = np.where(reason[usable] == "", np.log(values), np.nan)
        spread = self.spread(networks)
        return {quantity: Estimate(values, spread, reason) for quantity, values in found.items()}

    def spread(self, networks: pd.DataFrame) -> Floats:
        """Return the expected error of the logarithm of each row."""
        return np.where(networks["device"].isin(self.devices).to_numpy(), SPREAD[SEEN], SPREAD[UNSEEN])

    def half_width(self, networks: pd.DataFrame, quantity: str) -> Floats:
        """Return half the width of the 90 % intervals of a quantity, as differences of logarithms."""
        spread = self.spread(networks)
        seen = networks["device"].isin(self.devices).to_numpy()
        prior = np.where(seen, _PRIOR_HALF[SEEN], _PRIOR_HALF[UNSEEN])
        if quantity not in self.calibrations:
            return prior
        own = self.calibrations[quantity].half_width(networks["dtype"], spread)
        return np.where(seen, own, np.maximum(prior, own))

    def to_json(self) -> dict[str, Any]:
        """Return devices and calibrations as JSON types; the fleet is stored once for all models."""
        return {
            "devices": sorted(self.devices),
            "calibrations": all_to_json(self.calibrations),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], fleet: PowerFleet) -> NetworkPower:
        """Return the model that `to_json` returned."""
        return cls(fleet, frozenset(stored["devices"]), all_from_json(stored["calibrations"]))


def settings(networks: pd.DataFrame, device: Device) -> tuple[Floats, Floats]:
    """Return clocks as fractions of the boost clock, and limits as fractions of the board power, at most 1."""
    clock = networks["clock_mhz"].fillna(device.boost_mhz).to_numpy(dtype="float64") / device.boost_mhz
    limit = networks["power_limit_w"].fillna(device.board_power_w).to_numpy(dtype="float64") / device.board_power_w
    return np.minimum(clock, 1.0), np.minimum(limit, 1.0)


def reasons(
    networks: pd.DataFrame, activity: pd.DataFrame, devices: Mapping[str, Device], time: GivenTime | None = None
) -> np.ndarray:
    """Return why rows are refused; empty text for rows that are predicted."""
    described = networks["device"].isin(set(devices)).to_numpy()
    listed = activity["memory_s"].notna().to_numpy()
    timed = np.ones(len(networks), dtype=bool) if time is None else time.seconds > 0
    choices = {
        "the device has no description": ~described,
        "the operators of the network, or their rates, are unknown": ~listed,
        "the time is unknown": ~timed,
        WITHOUT_CLOCK: without_clock(networks),
    }
    return np.select(list(choices.values()), list(choices), default="").astype(object)


def without_clock(networks: pd.DataFrame) -> np.ndarray:
    """Return which rows have a clock or a power limit that is zero or negative: a device does not run in this state."""
    return np.asarray((networks[["clock_mhz", "power_limit_w"]] <= 0).any(axis=1))


def with_known_lists(networks: pd.DataFrame, lists: pd.DataFrame) -> pd.DataFrame:
    """Return the networks with a list in another data type if their own is unknown.

    Networks of equal name, phase, batch and sequence have the same operators in all data types.
    """
    known = networks["list_id"].isin(set(lists["list_id"])).to_numpy()
    keys = [name for name in CONFIGURATION if name != "dtype"]
    others = networks[known].drop_duplicates(keys)[[*keys, "list_id"]]
    found = networks[keys].merge(others, on=keys, how="left")["list_id"].to_numpy()
    usable = ~known & pd.notna(found)
    return networks.assign(list_id=np.where(usable, found, networks["list_id"]))


def measured_rows(
    networks: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]
) -> dict[str, tuple[pd.DataFrame, Rows]]:
    """Return the rows with a known activity, a time and a power by device, as tables and as measurements."""
    usable = networks[
        (networks["unit"] == table.STEP)
        & networks["device"].isin(set(devices))
        & networks["list_id"].isin(set(lists["list_id"]))
        & (networks["time_s"] > 0)
        & (networks["power_w"] > 0)
        & ~without_clock(networks)
    ]
    found = {}
    for name, rows in usable.groupby("device", observed=True):
        device = devices[str(name)]
        work = of_lists(lists, rows, devices)[list(COLUMNS)]
        known = work.notna().all(axis=1).to_numpy()
        if not known.any():
            continue
        rows, work = rows[known], work[known]
        group = rows.groupby(list(CONFIGURATION), dropna=False, observed=True).ngroup().to_numpy(dtype="float64")
        found[str(name)] = (rows, fleets.rows_of(rows, work, device.boost_mhz, device.board_power_w, group))
    return found


LeftOutNetworks = Mapping[str, Mapping[str, DevicePower]]  # models by device, and by the network that they did not see


def left_out_networks(measured: Mapping[str, tuple[pd.DataFrame, Rows]]) -> LeftOutNetworks:
    """Return the models of each device without each of its networks; none for devices with one network."""
    return {
        name: {
            str(network): fit_steps(measurements.where((rows["network"] != network).to_numpy()))
            for network in rows["network"].unique()
        }
        for name, (rows, measurements) in measured.items()
        if rows["network"].nunique() > 1
    }


def fit(
    measured: Mapping[str, tuple[pd.DataFrame, Rows]],
    devices: Mapping[str, Device],
    fleet: PowerFleet,
    left_out: LeftOutNetworks,
) -> NetworkPower:
    """Return the model of networks, calibrated by `left_out_networks`. Rows that a model refuses have no error."""
    errors = [_left_out(*measured[name], devices, name, models) for name, models in left_out.items()]
    if not errors:
        return NetworkPower(fleet, frozenset(measured))
    pooled = pd.concat(errors).dropna(subset=list(QUANTITIES))
    quantities = () if pooled.empty else QUANTITIES
    calibrations = {each: calibrated(pooled.assign(error=pooled[each]), shared=True) for each in quantities}
    return NetworkPower(fleet, frozenset(measured), calibrations)


def _left_out(
    rows: pd.DataFrame,
    measurements: Rows,
    devices: Mapping[str, Device],
    name: str,
    models: Mapping[str, DevicePower],
) -> pd.DataFrame:
    """Return the errors of each network by a model of the device's other networks."""
    found = []
    for network, model in models.items():
        out = (rows["network"] == network).to_numpy()
        asked, work = rows[out], measurements.activity[out]
        predicted = NetworkPower(PowerFleet({name: model})).estimate(asked, work, devices)
        cluster = network + "/" + pd.Series(measurements.group[out]).astype(str)
        labels = {"spread": SPREAD[SEEN], "group": asked["dtype"].to_numpy(), "cluster": cluster.to_numpy()}
        found.append(pd.DataFrame({**log_errors(asked, predicted), **labels}))
    return pd.concat(found)


def log_errors(rows: pd.DataFrame, predicted: Mapping[str, Estimate]) -> dict[str, Floats]:
    """Return the logarithms of measured over predicted time, power and energy, by quantity.

    Rows without a measured energy have the product of power and time.
    """
    energy = rows["energy_j"].fillna(rows["power_w"] * rows["time_s"])
    measured = {TIME: rows["time_s"], POWER: rows["power_w"], ENERGY: energy}
    return {name: np.log(measured[name].to_numpy()) - predicted[name].log_value for name in QUANTITIES}
