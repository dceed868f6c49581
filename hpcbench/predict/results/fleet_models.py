"""The models of a fleet for networks with operator lists: time, power and energy in each state of a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.fleet import Fleet, given_time
from hpcbench.predict.results.table import ENERGY, POWER, TIME
from hpcbench.predict.tables.prediction import Floats

_STATE = ("clock_mhz", "power_limit_w")


@dataclass(frozen=True)
class FleetModels:
    """A fleet as `predictions.NetworkModels`.

    The time in the default state is that of the model of listed networks. The model of power changes it with clock and
    power limit, and predicts power and energy.
    """

    fleet: Fleet

    def predict_networks(
        self, networks: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]
    ) -> dict[str, pd.DataFrame]:
        """Return predictions of time, power and energy of a step, with the columns of `prediction.COLUMNS`."""
        rows, known = self._as_fitted(networks, devices)
        usual = self.fleet.predict_networks(_in_default_state(rows), lists, known)
        state = self.fleet.power.predict_networks(rows, lists, known, given_time(usual[TIME]))
        is_default = rows[list(_STATE)].isna().all(axis=1)
        found = {name: usual[name].where(is_default, state[name]) for name in (TIME, POWER, ENERGY)}
        reason = usual[TIME]["reason"]
        refused = {name: each.assign(reason=reason.where(reason != "", each["reason"])) for name, each in found.items()}
        return {**refused, TIME: refused[TIME].assign(**self._basis(len(rows)))}

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

    def _basis(self, count: int) -> dict[str, Floats]:
        """Return the numbers of measurements and of devices that the fleet was fitted on, for each row."""
        basis = self.fleet.basis
        measurements = sum(sum(counts.values()) for counts in basis.rows.values())
        return {"basis_rows": np.full(count, measurements), "basis_devices": np.full(count, len(basis.devices))}


def measured_devices(fleet: Fleet, devices: Mapping[str, Device]) -> frozenset[str]:
    """Return the names of those devices that the fleet was fitted on."""
    own = {*fleet.basis.devices, *fleet.devices}
    return frozenset(name for name, device in devices.items() if own & {name, *device.names})


def _in_default_state(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(**dict.fromkeys(_STATE, np.nan))
