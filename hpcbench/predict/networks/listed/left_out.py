"""Errors of predictions for devices and networks that a fit did not see, for the calibration of intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.predict.calibration.intervals import ALL, OF_DEVICES, Calibration, calibrated
from hpcbench.predict.choice.ratios import RatioErrors, ratio_errors
from hpcbench.predict.networks.listed.observations import Observations
from hpcbench.predict.networks.listed.targets import TIME

# What is known of the device of a network: whole networks, only single operators, or nothing but its description.
NETWORKS, OPERATORS, DESCRIPTION = "networks", "operators", "description"
FROM_LEAST = (DESCRIPTION, OPERATORS, NETWORKS)  # each knows more than the one before
# Without measured networks: rounded values of the errors for the networks and devices of the public sets.
_PRIOR = Calibration(0, 0.4, {ALL: 1.0})
PRIOR = {NETWORKS: _PRIOR, OPERATORS: _PRIOR, DESCRIPTION: _PRIOR}


def calibrations(full: Observations, new: Observations, without: Observations) -> dict[str, Calibration]:
    """Return the calibrations by what is known of the device.

    `new` has the same rows as `full`, but the sums of each network are from a model that did not see its operators; in
    `without`, it did not see those of the device. The network that is asked for can be new in all cases.
    """
    devices = _calibration(_device_errors(full, new), shared=True)
    networks = _network_errors(full, new)
    return {
        NETWORKS: devices if networks.empty else _calibration(networks, shared=False),
        OPERATORS: devices,
        DESCRIPTION: _calibration(_device_errors(full, without), shared=True),
    }


def errors_of_ratios(full: Observations, without: Observations) -> RatioErrors:
    """Return the errors of the ratio of the step times of two devices that a fit did not see."""
    errors = _device_errors(full, without)
    calibration = _calibration(errors, shared=True)
    known = errors.assign(
        half_width=calibration.half_width(errors["group"], errors["spread"].to_numpy(dtype="float64"))
    )
    return ratio_errors(known[known["group"] == TIME])


def _calibration(errors: pd.DataFrame, shared: bool) -> Calibration:
    return _PRIOR if errors.empty else calibrated(errors, shared, expected=OF_DEVICES)


def _network_errors(full: Observations, new: Observations) -> pd.DataFrame:
    """Return errors with each network left out of the fit of the ratio; none if there is only one network."""
    names = full.rows["network"]
    return _table(
        new,
        [
            (names == name, new.errors(full.ratio((names != name).to_numpy()), (names == name).to_numpy()))
            for name in names.unique()
            if names.nunique() > 1
        ],
        "network",
    )


def _device_errors(full: Observations, without: Observations) -> pd.DataFrame:
    """Return errors with each device left out of the fit of the ratio; none if there is only one device."""
    names = full.rows["device"]
    return _table(
        without,
        [
            (names == name, without.errors(full.ratio((names != name).to_numpy()), (names == name).to_numpy()))
            for name in names.unique()
            if names.nunique() > 1
        ],
        "device",
    )


def _table(observed: Observations, found: list[tuple[pd.Series, np.ndarray]], cluster: str) -> pd.DataFrame:
    tables = [
        pd.DataFrame(
            {
                "error": error,
                "spread": observed.rows.loc[places, "spread"].to_numpy(),
                "group": observed.rows.loc[places, "quantity"].to_numpy(),
                "cluster": observed.rows.loc[places, cluster].to_numpy(),
                "item": observed.rows.loc[places, "list_id"].to_numpy(),
            }
        )
        for places, error in found
    ]
    return (
        pd.concat(tables, ignore_index=True)
        if tables
        else pd.DataFrame(columns=["error", "spread", "group", "cluster", "item"])
    )
