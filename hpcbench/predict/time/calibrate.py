"""Calibration of the intervals of operators: on devices, and on groups of shapes, that a fit did not see."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.predict.calibration.intervals import Calibration, calibrated
from hpcbench.predict.tables.prediction import Floats
from hpcbench.predict.time.core import fit_core
from hpcbench.predict.time.efficiency import Size
from hpcbench.predict.time.prepared import Prepared
from hpcbench.predict.time.priors import CALIBRATION

_FOLDS = 2  # of groups of shapes
_SHAPE = ("batch", "m", "n", "k", "rows", "columns", "heads")
_CELL = 1.0  # size of a group of shapes, as the binary logarithm of a size
_SEEN_SIZE, _UNSEEN_SIZE = Size(rounds=80, own_rounds=100), Size(rounds=80, own_rounds=0)


def unseen_devices(rows: Prepared) -> Calibration:
    """Return the calibration for devices without rows: each device is left out once.

    The error that the rows of a device share is part of their errors: devices count equally in each family.
    """
    names = rows.names.unique()
    if len(names) < 2:
        return CALIBRATION
    errors = pd.concat(
        [_errors(rows, (rows.names == name).to_numpy(), _UNSEEN_SIZE) for name in names], ignore_index=True
    )
    return _of_groups(errors)


def seen_devices(rows: Prepared) -> Calibration:
    """Return the calibration for devices with rows: groups of similar shapes are left out."""
    fold = _shape_group(rows.rows) % _FOLDS
    errors = [_errors(rows, fold == each, _SEEN_SIZE) for each in range(_FOLDS) if 0 < np.sum(fold == each) < len(fold)]
    return _of_groups(pd.concat(errors, ignore_index=True)) if errors else CALIBRATION


def half_width(calibration: Calibration, rows: Prepared, spread: Floats) -> Floats:
    """Return half the width of the rows' intervals, by family and data type, or by family if it is not calibrated."""
    group = rows.subject_families
    return calibration.half_width(group.where(group.isin(list(calibration.quantiles)), rows.family), spread)


def _of_groups(errors: pd.DataFrame) -> Calibration:
    """Return the calibration of families with a data type, and of families."""
    families = errors.assign(group=errors["group"].str.split("|").str[0])
    return calibrated(pd.concat([errors, families], ignore_index=True), shared=False)


def _errors(rows: Prepared, left_out: np.ndarray, size: Size) -> pd.DataFrame:
    """Return the errors of the rows that are left out of a fit of their families."""
    asked = rows.select(left_out)
    needed = rows.family.isin(asked.family.unique()).to_numpy()
    core = fit_core(rows.select(needed & ~left_out), size)
    predicted, spread = core.log_times(asked)
    return pd.DataFrame(
        {
            "error": np.log(asked.rows["time_s"].to_numpy(dtype="float64")) - predicted,
            "spread": spread,
            "group": asked.subject_families.to_numpy(),
            "cluster": asked.names.to_numpy(),
        }
    )


def _shape_group(rows: pd.DataFrame) -> np.ndarray:
    """Return a number for each row that similar shapes share."""
    cells = np.floor(np.log2(rows[list(_SHAPE)].fillna(1.0).clip(lower=1.0)) / _CELL).astype("int64")
    hashed = pd.util.hash_pandas_object(pd.DataFrame(cells), index=False).to_numpy()
    return np.asarray(hashed % np.uint64(1009), dtype="int64")
