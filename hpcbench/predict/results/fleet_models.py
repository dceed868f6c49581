"""The models of a fleet for networks of cases: time, power and energy in each state of a device.

A network of the catalog of images has two predictions of its time: from the list of its operators, and from the model
of image networks. The one with the narrower interval counts, since both intervals are calibrated on devices or networks
that a fit did not see. A list counts if its operators were measured on this device in a stream, which no other
measurement can match. It also counts in conditions that the model of image networks was not fitted on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.fleet import Fleet, at_times, given_time
from hpcbench.predict.networks.images.versions import LATEST
from hpcbench.predict.power.activity import COLUMNS as ACTIVITY
from hpcbench.predict.power.image_networks import of_images
from hpcbench.predict.results.table import ENERGY, MODEL, OF_LIST, OF_NAME, POWER, TIME
from hpcbench.predict.tables.prediction import Floats

_STATE = ("clock_mhz", "power_limit_w")


@dataclass(frozen=True)
class FleetModels:
    """A fleet as `predictions.NetworkModels`.

    The time in the default state is that of the models of networks. The model of power changes it with clock and power
    limit, and predicts power and energy.
    """

    fleet: Fleet

    def predict_networks(
        self, networks: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]
    ) -> dict[str, pd.DataFrame]:
        """Return predictions of time, power and energy of a step, with the columns of `prediction.COLUMNS`.

        Those of time have also the column `table.MODEL`: which model they are from.
        """
        rows, known = self._as_fitted(networks, devices)
        usual = self._default_times(rows, lists, known)
        state = self._in_state(rows, lists, known, usual)
        is_default = rows[list(_STATE)].isna().all(axis=1)
        at_default = at_times(state, usual[state[TIME].columns])
        found = {name: at_default[name].where(is_default, state[name]) for name in (TIME, POWER, ENERGY)}
        reason = usual["reason"]
        refused = {name: each.assign(reason=reason.where(reason != "", each["reason"])) for name, each in found.items()}
        basis = usual[["basis_rows", "basis_devices", "distance", MODEL]]
        return {**refused, TIME: refused[TIME].assign(**basis)}

    def shares(self, networks: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
        """Return the share of the time in each kind of operator, one row per place in `networks`."""
        rows, known = self._as_fitted(networks, devices)
        return self.fleet.listed.shares(_in_default_state(rows), lists, known)

    def limits(self, networks: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
        """Return the `limit` of the time of each network in the default state of its device, by place."""
        rows, known = self._as_fitted(networks, devices)
        return self.fleet.listed.limits(_in_default_state(rows), lists, known)

    def _as_fitted(
        self, networks: pd.DataFrame, devices: Mapping[str, Device]
    ) -> tuple[pd.DataFrame, dict[str, Device]]:
        """Return rows and devices in which devices of the fit have the names and descriptions of the fit."""
        known = self.fleet.with_own(devices)
        fitted = {each.name for each in self.fleet.devices.values()}
        names = {name: device.name for name, device in known.items() if device.name in fitted}
        rows = networks.reset_index(drop=True)
        return rows.assign(device=[names.get(name, name) for name in rows["device"]]), known

    def _default_times(self, rows: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
        """Return the times in the default state, each from the model that counts, with their basis."""
        usual = _in_default_state(rows)
        by_list = self.fleet.predict_networks(usual, lists, devices)[TIME].assign(**self._basis(len(rows)))
        by_name = self.fleet.images.predict(_by_name(usual), devices)
        counts = self._by_name_counts(usual, by_list, by_name, devices)
        found = by_list.where(~counts, by_name[by_list.columns])
        return found.assign(**{MODEL: np.where(counts, OF_NAME, OF_LIST)})

    def _by_name_counts(
        self, rows: pd.DataFrame, by_list: pd.DataFrame, by_name: pd.DataFrame, devices: Mapping[str, Device]
    ) -> pd.Series[bool]:
        """Return for which rows the model of image networks counts."""
        has_name, has_list = rows["image_network"] != "", rows["list_id"] != ""
        knows = self.fleet.images.knows(_by_name(rows), devices)
        profiled = rows["device"].isin(list(self.fleet.listed.operator_time.devices))
        narrower = _width(by_name) < _width(by_list)
        return has_name & (~has_list | (knows & narrower & ~profiled))

    def _in_state(
        self, rows: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device], usual: pd.DataFrame
    ) -> dict[str, pd.DataFrame]:
        """Return time, power and energy in the states of the rows, for times in the default state."""
        given = given_time(usual)
        found = self.fleet.power.predict_networks(rows, lists, devices, given)
        unlisted = ((rows["list_id"] == "") & (rows["image_network"] != "")).to_numpy()
        if not unlisted.any():
            return found
        activity = pd.DataFrame(np.nan, index=rows.index, columns=list(ACTIVITY))
        activity[unlisted] = of_images(_by_name(rows[unlisted]), self.fleet.images.catalog, devices)
        by_name = self.fleet.power.predict_activity(rows, activity, devices, given)
        return {name: each.where(pd.Series(~unlisted), by_name[name]) for name, each in found.items()}

    def _basis(self, count: int) -> dict[str, Floats]:
        """Return the numbers of measurements and of devices that the fleet was fitted on, for each row; no distance."""
        basis = self.fleet.basis
        measurements = sum(sum(counts.values()) for counts in basis.rows.values())
        return {
            "basis_rows": np.full(count, measurements),
            "basis_devices": np.full(count, len(basis.devices)),
            "distance": np.full(count, np.nan),
        }


def measured_devices(fleet: Fleet, devices: Mapping[str, Device]) -> frozenset[str]:
    """Return the names of those devices that the fleet was fitted on."""
    own = {*fleet.basis.devices, *fleet.devices}
    return frozenset(name for name, device in devices.items() if own & {name, *device.names})


def _by_name(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows as the model of image networks takes them."""
    return rows.assign(network=rows["image_network"], list_id="", library=LATEST)


def _width(predicted: pd.DataFrame) -> pd.Series[float]:
    """Return the widths of intervals as differences of logarithms; infinite for refused rows."""
    ratio = predicted["upper"] / predicted["lower"]
    return pd.Series(np.log(ratio.fillna(np.inf)), index=predicted.index)


def _in_default_state(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(**dict.fromkeys(_STATE, np.nan))
