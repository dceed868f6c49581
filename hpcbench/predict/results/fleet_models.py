"""The models of a fleet for networks with operator lists: time, power and energy in each state of a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.config.devices.reported_names import plain
from hpcbench.predict.choice.ratios import RatioErrors
from hpcbench.predict.choice.states import StateErrors
from hpcbench.predict.devices.device import GPU, Device
from hpcbench.predict.fleet import Fleet, at_times
from hpcbench.predict.networks.listed.sums import shares
from hpcbench.predict.power.given_time import GivenTime
from hpcbench.predict.results.image_times import as_images, by_name_rows, default_times, in_state
from hpcbench.predict.results.limits import device_shares, limit_of
from hpcbench.predict.results.network_basis import network_basis
from hpcbench.predict.results.predictions import Explained
from hpcbench.predict.results.table import ENERGY, OF_LIST, OF_NAME, POWER, TIME
from hpcbench.predict.tables.network_kinds import LISTED
from hpcbench.predict.tables.operators import UNKNOWN
from hpcbench.predict.tables.prediction import VALUES

_MOST_NAMES = 3  # of unknown operators
_STATE = ("clock_mhz", "power_limit_w")


@dataclass(frozen=True)
class FleetModels:
    """A fleet as `predictions.NetworkModels`.

    The time in the default state is that of the models of networks. The model of power gives the ratio of the time in
    another state to it, and predicts power and energy.
    """

    fleet: Fleet

    def predict_networks(
        self, networks: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]
    ) -> dict[str, pd.DataFrame]:
        """Return predictions of time, power and energy of a step, as of `tables.prediction.table`.

        Those of time have also the columns of `image_times.default_times`.
        """
        rows, known = self._as_fitted(networks, devices)
        distinct, places = _in_default_states(rows)
        default = default_times(self.fleet, distinct, lists, known)
        settled = in_state(self.fleet, distinct, lists, known, GivenTime.of(default))[TIME]["predicted"]
        usual = default.iloc[places].reset_index(drop=True)
        state = in_state(self.fleet, rows, lists, known, GivenTime.of(usual))
        time = usual[state[TIME].columns]
        in_default = rows[list(_STATE)].isna().all(axis=1)
        slower = (state[TIME]["predicted"] / settled.to_numpy()[places]).mask(in_default, 1.0)
        scaled = {name: time[name] * slower for name in VALUES}
        found = at_times(state, time.assign(**scaled))
        reason = usual["reason"].where((usual["reason"] != "") | in_default, state[TIME]["reason"])
        refused = {
            name: found[name].assign(reason=reason.where(reason != "", found[name]["reason"]))
            for name in (TIME, POWER, ENERGY)
        }
        return {**refused, TIME: refused[TIME].assign(**usual.drop(columns=state[TIME].columns))}

    def explained(self, networks: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]) -> Explained:
        """Return what the time of each network is spent on and based on, in the default state of its device.

        Shares and limits are those of the model that predicts the time.
        """
        rows, known = self._as_fitted(networks, devices)
        usual = _in_default_state(rows)
        kernels = self.fleet.listed.kernel_times(usual, lists, known)
        places = range(len(rows))
        launches = self.fleet.listed.launches(usual, kernels, known)
        spent, of_device = shares(kernels).reindex(places), device_shares(kernels, known).reindex(places)
        by_name = by_name_rows(self.fleet, usual, lists, known)
        if by_name.any():
            of_images = self.fleet.images.spent(as_images(usual), known)
            launches = np.where(by_name, of_images.launches, launches)
            of_device = of_device.mask(by_name, pd.DataFrame({"compute": of_images.compute, "waits": 0.0}, places))
            spent = pd.concat([spent[~by_name], of_images.shares[by_name]]).reindex(places)
        return Explained(
            spent,
            pd.Series(limit_of(launches, of_device), places, dtype="object"),
            self._basis(rows, kernels, known),
            _unknown_names(kernels).reindex(places, fill_value=""),
            of_device["compute"],
        )

    def _as_fitted(
        self, networks: pd.DataFrame, devices: Mapping[str, Device]
    ) -> tuple[pd.DataFrame, dict[str, Device]]:
        """Return rows and devices in which devices of the fit have the names and descriptions of the fit."""
        known = self.fleet.with_own(devices)
        fitted = {each.name for each in self.fleet.devices.values()}
        names = {name: device.name for name, device in known.items() if device.name in fitted}
        rows = networks.reset_index(drop=True)
        on_gpu = [name in known and known[name].kind == GPU for name in rows["device"]]
        threads = rows["threads"].mask(np.array(on_gpu, dtype=bool))
        return rows.assign(device=[names.get(name, name) for name in rows["device"]], threads=threads), known

    def _basis(self, rows: pd.DataFrame, kernels: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
        """Return what the times of networks are based on, with the columns `table.BASIS`."""
        fleet, whole = self.fleet, self.fleet.basis.rows.get(LISTED, {})
        measured = fleet.listed.operator_time.times
        found = network_basis(kernels, len(rows), devices, fleet.operator_time, measured, whole)
        of_power = fleet.power.fleet.measured
        return found.assign(power_devices=len(of_power), power_measured=rows["device"].isin(list(of_power)))


def measured_devices(fleet: Fleet, devices: Mapping[str, Device]) -> frozenset[str]:
    """Return the names of those devices that the fleet was fitted on."""
    own = set(map(plain, (*fleet.basis.devices, *fleet.devices)))
    return frozenset(name for name, device in devices.items() if own & set(map(plain, (name, *device.names))))


def ratio_errors(fleet: Fleet, devices: Mapping[str, Device]) -> dict[str, RatioErrors]:
    """Return the errors of ratios of the times of two of the devices, by the model that predicts them."""
    return {OF_LIST: fleet.listed.ratio_errors, OF_NAME: fleet.images.ratio_errors(devices.values())}


def state_errors(fleet: Fleet, devices: Mapping[str, Device]) -> StateErrors:
    """Return the errors of ratios between states of one device, for devices by the names that they are asked by."""
    own = fleet.power.states
    known = set(map(plain, own.devices))
    return own.of(name for name, device in devices.items() if known & set(map(plain, (name, *device.names))))


def _unknown_names(kernels: pd.DataFrame) -> pd.Series[str]:
    """Return the names of the operators without a model, those with most time first, by place.

    An operator of a known kind, such as a product in float64, has a data type whose rate is unknown.
    """
    works = (kernels["flops"] > 0) | (kernels["bytes"] > 0)
    unknown = kernels[works & ~kernels["known"].astype("bool")]
    unknown = unknown.sort_values("total_s", ascending=False, kind="stable")
    in_dtype = unknown["function"] + " in " + unknown["dtype"] + " (unknown rate)"
    shown = unknown["function"].where(unknown["kind"] == UNKNOWN, in_dtype)
    names = {place: list(dict.fromkeys(each)) for place, each in shown.groupby(unknown["place"])}
    return pd.Series({place: _first(each) for place, each in names.items()}, dtype="object")


def _first(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _in_default_states(rows: pd.DataFrame) -> tuple[pd.DataFrame, NDArray[np.integer[Any]]]:
    """Return the distinct rows in the default state of their devices, and for each row the number of its own."""
    usual = _in_default_state(rows)
    numbers = usual.groupby([name for name in usual if name != "state"], dropna=False, sort=False).ngroup()
    return usual[~numbers.duplicated()].reset_index(drop=True), numbers.to_numpy()


def _in_default_state(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(**dict.fromkeys(_STATE, np.nan))
