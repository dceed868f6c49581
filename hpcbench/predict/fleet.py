"""All models of the predictor, fitted on one data set: operators, networks, power and energy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd

from hpcbench import __version__
from hpcbench.config.devices.reported_names import plain
from hpcbench.predict.basis import Basis, basis_of
from hpcbench.predict.devices.device import Device, Scaling
from hpcbench.predict.networks.catalog.catalog import shipped_catalog
from hpcbench.predict.networks.images import model as image_networks
from hpcbench.predict.networks.images.model import ImageNetworks
from hpcbench.predict.networks.listed import listed_networks
from hpcbench.predict.networks.listed.listed_networks import ListedNetworks
from hpcbench.predict.power import model as power_model
from hpcbench.predict.power.given_time import LAUNCHES, GivenTime
from hpcbench.predict.power.image_networks import of_images
from hpcbench.predict.power.model import PowerModel
from hpcbench.predict.sets.data_set import DataSet
from hpcbench.predict.tables import networks as network_table
from hpcbench.predict.tables import prediction
from hpcbench.predict.tables.network_kinds import IMAGE, LISTED, network_kinds
from hpcbench.predict.time.fitting import fit_with_left_out
from hpcbench.predict.time.model import OperatorTime
from hpcbench.predict.typical_errors import TypicalError, typical_errors

Progress = Callable[[int, int], None]
_STEPS = 5
_NOTHING = "no operators for this quantity"
_COLUMNS = (*prediction.VALUES, "reason", LAUNCHES)


@dataclass(frozen=True)
class Fleet:
    """The fitted models, and what they are based on. Without data, they are the priors that hpcbench ships."""

    operator_time: OperatorTime
    listed: ListedNetworks
    images: ImageNetworks
    power: PowerModel
    basis: Basis
    versions: Mapping[str, str]  # of the packages that fitted it
    devices: Mapping[str, Device]  # that it was fitted on, by each of their names
    typical_errors: tuple[TypicalError, ...] = ()

    def with_own(self, devices: Mapping[str, Device]) -> dict[str, Device]:
        """Return devices by name, in which those that the fleet was fitted on have its own descriptions.

        Offsets that were learned for a device hold only with the description that the fit had. Names are compared as
        tools report them, with or without the vendor.
        """
        found = dict(devices)
        own = {plain(name): device for device in self.devices.values() for name in device.names}
        for key, device in devices.items():
            same = next((own[name] for name in map(plain, (key, *device.names)) if name in own), None)
            found.update(dict.fromkeys((key, *device.names), same) if same else {})
        found.update({name: device for device in self.devices.values() for name in device.names})
        return found

    def predict_operators(self, operators: pd.DataFrame, devices: Mapping[str, Device]) -> dict[str, pd.DataFrame]:
        """Return the predictions of time (s), power (W) and energy (J), by quantity, with the index of `operators`.

        Each is a table as of `prediction`: a row that cannot be predicted has a reason and no values.
        """
        time = self.operator_time.predict(operators, devices).set_index(operators.index)
        half_width = np.log(time["upper"].to_numpy() / time["predicted"].to_numpy())
        rows = operators.reset_index(drop=True)
        others = self.power.predict_operators(rows, devices, time["predicted"].to_numpy(), half_width)
        found = {name: values.set_index(operators.index) for name, values in others.items()}
        return _with_reasons({"time_s": time, **found}, operators, devices)

    def predict_networks(
        self, networks: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]
    ) -> dict[str, pd.DataFrame]:
        """Return the predictions of each quantity of networks (s, W, J), by quantity, with the index of `networks`.

        Times of networks with a list have the column `given_time.LAUNCHES`, which is NaN for all others.
        """
        nothing = refused(networks, "this quantity is not predicted").assign(**{LAUNCHES: np.nan})
        found = {name: nothing.copy() for name in network_table.TARGETS}
        for kind, rows in networks.groupby(network_kinds(networks), sort=False):
            for name, values in self._predict_kind(str(kind), rows, lists, devices).items():
                found[name].loc[rows.index, list(_COLUMNS)] = values.set_index(rows.index).reindex(
                    columns=list(_COLUMNS)
                )
        return _with_reasons(found, networks, devices)

    def models_to_json(self) -> dict[str, Any]:
        """Return the models and their typical errors as JSON types."""
        return {
            "operator_time": self.operator_time.to_json(),
            "listed": self.listed.to_json(),
            "images": self.images.to_json(),
            "power": self.power.to_json(),
            "devices": [_fields(each) for each in {device.name: device for device in self.devices.values()}.values()],
            "typical_errors": [asdict(each) for each in self.typical_errors],
        }

    @classmethod
    def from_json(cls, models: Mapping[str, Any], basis: Basis, versions: Mapping[str, str]) -> Fleet:
        """Return the fleet of models from `models_to_json`. Raise KeyError if a model is missing."""
        time = OperatorTime.from_json(models["operator_time"])
        return cls(
            operator_time=time,
            listed=ListedNetworks.from_json(models["listed"], time),
            images=ImageNetworks.from_json(models["images"]),
            power=PowerModel.from_json(models["power"]),
            basis=basis,
            versions=versions,
            devices={name: each for each in map(_device, models["devices"]) for name in each.names},
            typical_errors=tuple(TypicalError.from_json(each) for each in models["typical_errors"]),
        )

    def _predict_kind(
        self, kind: str, rows: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]
    ) -> dict[str, pd.DataFrame]:
        rows = rows.reset_index(drop=True)
        if kind == LISTED:
            estimates = self.listed.estimate(rows, lists, devices)
            widths = {name: self.listed.half_width(name, rows, devices, each) for name, each in estimates.items()}
            times = {
                name: prediction.table(each.log_value, widths[name], each.reason).assign(**{LAUNCHES: each.launches})
                for name, each in estimates.items()
            }
            found = self.power.predict_networks(rows, lists, devices, GivenTime.of(times["time_s"]))
            return {**at_times(found, times["time_s"]), **times}
        if kind == IMAGE:
            time = self.images.predict(rows, devices)
            activity = of_images(rows, self.images.catalog, devices)
            return at_times(self.power.predict_activity(rows, activity, devices, GivenTime.of(time)), time)
        return self.power.predict_networks(rows, lists, devices)


def at_times(found: Mapping[str, pd.DataFrame], time: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return predictions of power and energy with times of another model, which count as those of the default state.

    The model of power may slow a step down to keep the power of the board; measured times already have that.
    """
    energy, factor = found["energy_j"], time["predicted"] / found["time_s"]["predicted"]
    scaled = {name: energy[name] * factor for name in prediction.VALUES}
    return {**found, "time_s": time, "energy_j": energy.assign(**scaled)}


def _with_reasons(
    found: Mapping[str, pd.DataFrame], rows: pd.DataFrame, devices: Mapping[str, Device]
) -> dict[str, pd.DataFrame]:
    """Return predictions in which each row without a positive value, or without a description, has a reason."""
    unknown = ~rows["device"].isin(list(devices))
    reasons = "description of device '" + rows["device"] + "' not found"
    completed = {}
    for name, each in found.items():
        positive = each["predicted"] > 0
        reason = each["reason"].mask(~positive & (each["reason"] == ""), _NOTHING).mask(unknown, reasons)
        values = each[list(prediction.VALUES)].where(positive & ~unknown)
        completed[name] = each.assign(reason=reason, **values)
    return completed


def refused(rows: pd.DataFrame, reason: str) -> pd.DataFrame:
    """Return predictions that refuse each row for the same reason."""
    nothing = np.full(len(rows), np.nan)
    reasons = np.full(len(rows), reason, dtype="object")
    return prediction.table(nothing, nothing, reasons).set_index(rows.index)


def fit(data: DataSet, progress: Progress = lambda done, of: None) -> Fleet:
    """Return the models fitted on a data set, as of `rows_to_train_on`.

    `progress` takes the numbers of finished and of all steps.
    """
    operators, devices = data.operators, data.devices
    kinds = network_kinds(data.networks)
    progress(0, _STEPS)
    times = fit_with_left_out(operators, devices)
    progress(1, _STEPS)

    of_lists = data.networks[kinds == LISTED].reset_index(drop=True)
    listed = listed_networks.fit(of_lists, data.lists, devices, operators, times)
    progress(2, _STEPS)
    of_images = data.networks[kinds == IMAGE].reset_index(drop=True)
    images = image_networks.fit(of_images, shipped_catalog(), devices)
    progress(3, _STEPS)
    power = power_model.fit(operators, data.networks, data.lists, devices)
    progress(4, _STEPS)
    basis = _basis(data, times.model.flaws)
    fleet = Fleet(times.model, listed, images, power, basis, _versions(), _fitted_devices(data))
    found = typical_errors(
        data,
        lambda rows: fleet.predict_operators(rows.operators, rows.devices),
        lambda rows: fleet.predict_networks(rows.networks, rows.lists, rows.devices),
    )
    progress(_STEPS, _STEPS)
    return replace(fleet, typical_errors=found)


def _basis(data: DataSet, flaws: tuple[str, ...]) -> Basis:
    """Return what a fit is based on, with the flaws of operators that the model of their times cannot use."""
    basis = basis_of(data)
    return replace(basis, flaws=(*basis.flaws, *flaws))


def _fitted_devices(data: DataSet) -> dict[str, Device]:
    """Return the devices that a data set has rows of, by each of their names."""
    names = {*data.operators["device"], *data.networks["device"]}
    found = [data.devices[name] for name in sorted(names) if name in data.devices]
    return {name: device for device in found for name in device.names}


def _fields(device: Device) -> dict[str, Any]:
    scaling = [vars(each) for each in device.scaling]
    return {**vars(device), "matrix_flops_per_s": dict(device.matrix_flops_per_s), "scaling": scaling}


def _device(fields: Mapping[str, Any]) -> Device:
    scaling = tuple(Scaling(**each) for each in fields["scaling"])
    return Device(**{**fields, "aliases": tuple(fields["aliases"]), "scaling": scaling})


def _versions() -> dict[str, str]:
    """Return the versions of hpcbench and of the packages that fit models."""
    found = {"hpcbench": __version__}
    for package in ("lightgbm", "numpy"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
