"""Errors of predictions for devices and networks that a fit did not see, for the calibration of intervals."""

from __future__ import annotations

import pandas as pd

from hpcbench.predict.calibration.intervals import ALL, OF_DEVICES, Calibration, calibrated
from hpcbench.predict.choice.ratios import RatioErrors, ratio_errors
from hpcbench.predict.networks.listed.observations import Observations
from hpcbench.predict.tables.prediction import TIME

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
    devices = _calibration(_errors(full, new, "device"), shared=True)
    networks = _errors(full, new, "network")
    return {
        NETWORKS: devices if networks.empty else _calibration(networks, shared=False),
        OPERATORS: devices,
        DESCRIPTION: _calibration(_errors(full, without, "device"), shared=True),
    }


def errors_of_ratios(full: Observations, without: Observations) -> RatioErrors:
    """Return the errors of the ratio of the step times of two devices that a fit did not see."""
    errors = _errors(full, without, "device")
    calibration = _calibration(errors, shared=True)
    known = errors.assign(
        half_width=calibration.half_width(errors["group"], errors["spread"].to_numpy(dtype="float64"))
    )
    return ratio_errors(known[known["group"] == TIME])


def _calibration(errors: pd.DataFrame, shared: bool) -> Calibration:
    return _PRIOR if errors.empty else calibrated(errors, shared, expected=OF_DEVICES)


def _errors(full: Observations, predicted: Observations, cluster: str) -> pd.DataFrame:
    """Return the errors of `predicted` with each cluster left out of the fit of the ratio; none if there is only one.

    `cluster` is the column that identifies it: `network` or `device`.
    """
    names = full.rows[cluster]
    if names.nunique() < 2:
        return pd.DataFrame(columns=["error", "spread", "group", "cluster", "item"])
    tables = []
    for name in names.unique():
        left_out = (names == name).to_numpy()
        rows = predicted.rows[left_out]
        tables.append(
            pd.DataFrame(
                {
                    "error": predicted.errors(full.ratio(~left_out), left_out),
                    "spread": rows["spread"].to_numpy(),
                    "group": rows["quantity"].to_numpy(),
                    "cluster": name,
                    "item": rows["list_id"].to_numpy(),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)
