"""The errors of predicted ratios of energies between clocks and power limits of one device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.choice.states import KERNELS, LAUNCHES, SEEN, UNSEEN, StateErrors, calibration_of
from hpcbench.predict.devices.device import Device
from hpcbench.predict.power.device_power import Rows
from hpcbench.predict.power.jobs.model import LeftOutJobs
from hpcbench.predict.power.networks import LeftOutNetworks, NetworkPower
from hpcbench.predict.power.power_fleet import PowerFleet
from hpcbench.predict.tables.prediction import ENERGY, POWER, TIME, Estimate

Steps = Mapping[str, tuple[pd.DataFrame, Rows]]  # by device, as of `networks.measured_rows`


def fit(
    steps: Steps,
    networks: LeftOutNetworks,
    jobs: LeftOutJobs,
    devices: Mapping[str, Device],
    without: Mapping[str, PowerFleet],
) -> StateErrors:
    """Return the errors from steps of networks over clocks and limits, and from training jobs under limits.

    For devices with measured steps, one network is left out at a time; for others, one device. `networks` has the
    models of devices without a network, `jobs` are those of devices that their model did not see, and `without` has the
    fleet that was fitted without each device with steps.
    """
    seen, unseen = [], []
    for name, (rows, measurements) in steps.items():
        for network, model in networks.get(name, {}).items():
            out = (rows["network"] == network).to_numpy()
            fleet = PowerFleet({name: model})
            cluster = network + "/" + pd.Series(measurements.group[out]).astype(str)
            seen.append(_of_steps(rows[out], measurements.where(out), devices, fleet, cluster.to_numpy()))
        if name in without:
            unseen.append(_of_steps(rows, measurements, devices, without[name], np.full(len(rows), name)))
    unseen += [_of_jobs(rows, estimates) for rows, estimates in jobs]
    found = {
        name: calibration_of(pd.concat(each, ignore_index=True), shared=name == UNSEEN)
        for name, each in ((SEEN, seen), (UNSEEN, unseen))
        if each
    }
    return StateErrors(frozenset(steps), {name: each for name, each in found.items() if each is not None})


def _of_steps(
    rows: pd.DataFrame, measurements: Rows, devices: Mapping[str, Device], fleet: PowerFleet, cluster: np.ndarray
) -> pd.DataFrame:
    estimates = NetworkPower(fleet).estimate(rows, measurements.activity, devices)
    device = str(rows["device"].iloc[0])
    slow = fleet.of(device).steps.is_launch_bound(measurements.activity)
    item = device + "/" + pd.Series(measurements.group).astype(str)
    group = np.where(slow, LAUNCHES, KERNELS)
    return _errors(rows, estimates).assign(item=item.to_numpy(), cluster=cluster, group=group)


def _of_jobs(rows: pd.DataFrame, estimates: Mapping[str, Estimate]) -> pd.DataFrame:
    keys = ["device", "network", "data", "batch_size", "optimizer"]
    item = "job/" + rows.groupby(keys, observed=True, dropna=False).ngroup().astype(str) + "/" + rows["device"]
    return _errors(rows, estimates).assign(item=item.to_numpy(), cluster=rows["device"].to_numpy(), group=KERNELS)


def _errors(rows: pd.DataFrame, estimates: Mapping[str, Estimate]) -> pd.DataFrame:
    energy = rows["energy_j"].fillna(rows["power_w"] * rows["time_s"]).to_numpy(dtype="float64")
    states: dict[str, Any] = {name: rows[name].fillna(np.inf) for name in ("clock_mhz", "power_limit_w")}
    # Rows of one item differ in the clock or in the limit: ranks order them by the one that differs.
    height = sum(each.rank(method="dense") for each in states.values())
    return pd.DataFrame(
        {
            "error": np.log(energy) - estimates[ENERGY].log_value,
            "log_time": estimates[TIME].log_value,
            "log_power": estimates[POWER].log_value,
            "height": height.to_numpy(dtype="float64"),
        }
    )
