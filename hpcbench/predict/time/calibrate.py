"""Calibration of the intervals of operators: on devices, and on groups of shapes, that a fit did not see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from hpcbench.predict.calibration.intervals import (
    OF_DEVICES_ON_OPERATORS,
    Calibration,
    calibrated,
    calibrated_by_group,
)
from hpcbench.predict.time.core import Core, with_few
from hpcbench.predict.time.prepared import Prepared
from hpcbench.predict.time.priors import CALIBRATION
from hpcbench.predict.time.shapes import shape_fold

_FEW = 20  # measured operators of an otherwise unseen device
_CHOICES = 3  # of so many operators, at random


def unseen_devices(rows: Prepared, fleets: Mapping[str, Core]) -> Calibration:
    """Return the calibration for devices without rows, from the fleets without each device.

    The operators of a device share an error in each family.
    """
    errors = _of_groups(
        _errors(rows.select((rows.names == name).to_numpy()), fleet, name) for name, fleet in fleets.items()
    )
    return CALIBRATION if errors.empty else calibrated_by_group(errors, OF_DEVICES_ON_OPERATORS)


def few_operators(rows: Prepared, fleets: Mapping[str, Core]) -> Calibration:
    """Return the calibration for devices with few rows: those without each device, corrected by few of its rows."""
    found = []
    for name, fleet in fleets.items():
        own = rows.select((rows.names == name).to_numpy())
        for seed in range(_CHOICES):
            chosen = np.random.default_rng(seed).permutation(len(own.rows)) < _FEW
            found.append(_errors(own.select(~chosen), with_few(fleet, own.select(chosen)), name))
    return _of_known(_of_groups(found))


def seen_devices(rows: Prepared, fleets: tuple[Core, ...]) -> Calibration:
    """Return the calibration for devices with rows, from the fleets without each fold of shapes."""
    fold = shape_fold(rows.rows)
    left_out = (rows.select(fold == each) for each in range(len(fleets)))
    return _of_known(_of_groups(_errors(each, fleet, each.names) for each, fleet in zip(left_out, fleets, strict=True)))


def _of_known(errors: pd.DataFrame) -> Calibration:
    """Return the calibration for devices whose rows are in the fit; without errors, that of the prior."""
    return CALIBRATION if errors.empty else calibrated(errors, shared=False)


def _of_groups(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return errors twice: in groups of families with a data type, and of families."""
    found = [table for table in tables if len(table)]
    if not found:
        return pd.DataFrame()
    errors = pd.concat(found, ignore_index=True)
    families = errors.assign(group=errors["group"].str.split("|").str[0])
    return pd.concat([errors, families], ignore_index=True)


def _errors(rows: Prepared, core: Core, cluster: str | pd.Series) -> pd.DataFrame:
    """Return the errors of rows that a model did not see."""
    predicted, spread = core.log_times(rows)
    return pd.DataFrame(
        {
            "error": np.log(rows.rows["time_s"].to_numpy(dtype="float64")) - predicted,
            "spread": spread,
            "group": rows.subject_families.to_numpy(),
            "cluster": cluster if isinstance(cluster, str) else cluster.to_numpy(),
        }
    )
