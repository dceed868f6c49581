"""The model of power and energy: operators, steps of networks, training jobs and requests, with one fit for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.choice.states import StateErrors
from hpcbench.predict.devices.device import Device
from hpcbench.predict.power import networks as of_networks
from hpcbench.predict.power import operators as of_operators
from hpcbench.predict.power import power_fleet as fleets
from hpcbench.predict.power import states as of_states
from hpcbench.predict.power.activity import of_lists
from hpcbench.predict.power.given_time import GivenTime
from hpcbench.predict.power.jobs import model as of_jobs
from hpcbench.predict.power.jobs.model import JobPower
from hpcbench.predict.power.networks import NetworkPower, with_known_lists
from hpcbench.predict.power.operators import OperatorPower, limits_w
from hpcbench.predict.power.power_fleet import PowerFleet
from hpcbench.predict.power.requests import model as of_requests
from hpcbench.predict.power.requests.model import RequestPower
from hpcbench.predict.tables import networks as network_table
from hpcbench.predict.tables.prediction import ENERGY, POWER, QUANTITIES, TIME, VALUES, Floats, table


@dataclass(frozen=True)
class PowerModel:
    """Power and energy on any described device, over clocks and power limits."""

    fleet: PowerFleet
    operators: OperatorPower
    networks: NetworkPower
    jobs: JobPower
    requests: RequestPower
    states: StateErrors = field(default_factory=StateErrors)  # of ratios of energies between states of a device

    def predict_operators(
        self, rows: pd.DataFrame, devices: Mapping[str, Device], time_s: Floats, time_half_width: Floats
    ) -> dict[str, pd.DataFrame]:
        """Return predictions of power in watts and energy in joules of operators, by quantity.

        `time_s` has the predicted times, and `time_half_width` half the widths of their 90 % intervals as differences
        of logarithms, 0 for measured times. Without a measured time, the energy on a measured device is that of a model
        of its own, and not exactly the product of both. An operator that takes longer than predicted draws less power,
        so that its energy is more certain than its time. No power is above the limit of the device.
        """
        rows, devices = self._by_fitted_names(rows, devices)
        power = self.operators.estimate(rows, devices, time_s)
        half = self.operators.half_width(rows)
        of_time = time_half_width * (1.0 + self.operators.elasticity(rows, devices, time_s, time_half_width))
        with np.errstate(divide="ignore", invalid="ignore"):
            log_energy = power.log_value + np.log(time_s)
        own = np.where(time_half_width > 0, self.operators.energy.log_joules(rows, devices), np.nan)
        # Errors of the priors have common causes, such as a kernel that is unknown, and add up.
        product = np.hypot(half, of_time) if self.operators.calibrations else half + of_time
        of_energy = np.where(np.isnan(own), product, self.operators.energy.half_width(rows))
        log_energy = np.where(np.isnan(own), log_energy, own)
        most = limits_w(rows, devices)
        joules = table(log_energy, of_energy, power.reason)
        found = {
            POWER: _at_most(table(power.log_value, half, power.reason), most),
            ENERGY: _at_most(joules, most * time_s * np.exp(time_half_width)),
        }
        return {quantity: each.set_index(rows.index) for quantity, each in found.items()}

    def predict_networks(
        self,
        networks: pd.DataFrame,
        lists: pd.DataFrame,
        devices: Mapping[str, Device],
        time: GivenTime | None = None,
    ) -> dict[str, pd.DataFrame]:
        """Return predictions of time, power and energy per step, epoch or request of each row, by quantity.

        Steps require the operators of their network in `lists`. `time` has the times of steps from another model. See
        `NetworkPower.estimate` for clocks and limits.
        """
        asked = with_known_lists(networks, lists)
        return self.predict_activity(asked, of_lists(lists, asked, devices), devices, time)

    def predict_activity(
        self,
        networks: pd.DataFrame,
        activity: pd.DataFrame,
        devices: Mapping[str, Device],
        time: GivenTime | None = None,
    ) -> dict[str, pd.DataFrame]:
        """Return the predictions of `predict_networks` for networks whose activity is known, one row per network."""
        networks, devices = self._by_fitted_names(networks, devices)
        found = {quantity: _empty(len(networks)) for quantity in QUANTITIES}
        units = networks["unit"]
        for unit, places in units.groupby(units, observed=True).indices.items():
            rows = networks.iloc[places]
            given = None if time is None else time.at(np.asarray(places))
            for quantity, predicted in self._by_unit(str(unit), rows, activity.iloc[places], devices, given).items():
                for column in predicted.columns:
                    found[quantity][column][places] = predicted[column].to_numpy()
        return {quantity: pd.DataFrame(each, index=networks.index) for quantity, each in found.items()}

    def _by_fitted_names(
        self, rows: pd.DataFrame, devices: Mapping[str, Device]
    ) -> tuple[pd.DataFrame, dict[str, Device]]:
        """Return rows and devices in which a device that was measured under another of its names has that name."""
        measured = {*self.fleet.measured, *self.jobs.curves, *self.requests.devices}
        names = {
            key: next((name for name in device.names if name in measured), key)
            for key, device in devices.items()
            if key not in measured
        }
        renamed = {names[key]: devices[key] for key in names}
        return rows.assign(device=rows["device"].replace(names)), {**renamed, **devices}

    def _by_unit(
        self,
        unit: str,
        rows: pd.DataFrame,
        activity: pd.DataFrame,
        devices: Mapping[str, Device],
        time: GivenTime | None,
    ) -> dict[str, pd.DataFrame]:
        model: JobPower | RequestPower | NetworkPower = self.networks
        if unit == network_table.EPOCH:
            model = self.jobs
            estimates = self.jobs.estimate(rows, devices)
        elif unit == network_table.REQUEST:
            model = self.requests
            estimates = self.requests.estimate(rows, devices)
        else:
            estimates = self.networks.estimate(rows, activity, devices, time)
        widths = {quantity: model.half_width(rows, quantity) for quantity in estimates}
        if time is not None and model is self.networks:
            widths[TIME] = time.half_width
            widths[ENERGY] = np.hypot(widths[POWER], time.half_width)
        found = {quantity: table(each.log_value, widths[quantity], each.reason) for quantity, each in estimates.items()}
        return {**found, POWER: _at_most(found[POWER], limits_w(rows, devices))}

    def to_json(self) -> dict[str, Any]:
        """Return the model as JSON types."""
        return {
            "fleet": self.fleet.to_json(),
            "operators": self.operators.to_json(),
            "networks": self.networks.to_json(),
            "jobs": self.jobs.to_json(),
            "requests": self.requests.to_json(),
            "states": self.states.to_json(),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> PowerModel:
        """Return the model that `to_json` returned."""
        fleet = PowerFleet.from_json(stored["fleet"])
        return cls(
            fleet,
            OperatorPower.from_json(stored["operators"], fleet),
            NetworkPower.from_json(stored["networks"], fleet),
            JobPower.from_json(stored["jobs"]),
            RequestPower.from_json(stored["requests"]),
            StateErrors.from_json(stored["states"]),
        )


def fit(
    operators: pd.DataFrame, networks: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]
) -> PowerModel:
    """Return the model of all rows with a power; without any, that of the priors.

    `operators`, `networks` and `lists` are canonical tables. Rows without a time, and of devices without a
    description, do not count.
    """
    steps = of_networks.measured_rows(with_known_lists(networks, lists), lists, devices)
    measured_steps = {name: measurements for name, (_, measurements) in steps.items()}
    measured = of_operators.measured_rows(operators, devices)
    fleet = fleets.fit(measured_steps, measured)
    without = _without_each(measured_steps, measured, fleet)
    left_out = of_networks.left_out_networks(steps)
    jobs = of_jobs.left_out_devices(networks, devices)
    return PowerModel(
        fleet,
        of_operators.fit(operators, devices, fleet, without),
        of_networks.fit(steps, devices, fleet, left_out),
        of_jobs.fit(networks, devices, jobs),
        of_requests.fit(networks, devices),
        of_states.fit(steps, left_out, jobs, devices, without),
    )


def _without_each(steps: Mapping[str, Any], operators: Mapping[str, Any], fleet: PowerFleet) -> dict[str, PowerFleet]:
    """Return, for each device with measured operators or steps, the fleet without this device."""
    names = {*steps, *operators}
    return {
        left_out: fleets.fit(
            {name: rows for name, rows in steps.items() if name != left_out},
            {name: rows for name, rows in operators.items() if name != left_out},
            {name: fleet.measured[name] for name in steps},
        )
        for left_out in sorted(names)
        if len(names) > 1
    }


def _at_most(predictions: pd.DataFrame, most: Floats) -> pd.DataFrame:
    """Return predictions whose intervals end at the highest possible value, if it is known."""
    predicted, upper = (predictions[name].to_numpy(dtype="float64") for name in ("predicted", "upper"))
    return predictions.assign(upper=np.where(upper > most, np.maximum(most, predicted), upper))


def _empty(count: int) -> dict[str, np.ndarray]:
    numbers = {name: np.full(count, np.nan) for name in VALUES}
    return {**numbers, "reason": np.full(count, "", dtype=object)}
