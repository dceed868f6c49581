"""Fits that did not see a device, or a group of similar shapes. Rows are never divided at random."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.predict.time.core import Core, fit_fleet
from hpcbench.predict.time.efficiency import Size
from hpcbench.predict.time.prepared import Prepared

_FOLDS = 2  # of groups of shapes
_SHAPE = ("batch", "m", "n", "k", "rows", "columns", "heads")
_CELL = 1.0  # size of a group of shapes, as the binary logarithm of a size
_OF_DEVICES, _OF_SHAPES = Size(rounds=80, own_rounds=0), Size(rounds=80, own_rounds=100)


def without_devices(rows: Prepared) -> dict[str, Core]:
    """Return a model without each device, of the families of this device; nothing with fewer than two devices."""
    names = rows.names.unique()
    if len(names) < 2:
        return {}
    found = {}
    for name in names:
        left_out = (rows.names == name).to_numpy()
        needed = rows.family.isin(rows.family[left_out].unique()).to_numpy()
        found[str(name)] = fit_fleet(rows.select(needed & ~left_out), _OF_DEVICES)
    return found


def without_shapes(rows: Prepared) -> tuple[Core, ...]:
    """Return a model without each fold of shapes, in their order; nothing if a fold has no rows."""
    fold = shape_fold(rows.rows)
    if any((fold != each).all() for each in range(_FOLDS)):
        return ()
    return tuple(fit_fleet(rows.select(fold != each), _OF_SHAPES) for each in range(_FOLDS))


def shape_fold(rows: pd.DataFrame) -> np.ndarray:
    """Return the number of the fold of each row of a table of operators; similar shapes share it."""
    cells = np.floor(np.log2(rows[list(_SHAPE)].fillna(1.0).clip(lower=1.0)) / _CELL).astype("int64")
    hashed = pd.util.hash_pandas_object(pd.DataFrame(cells), index=False).to_numpy()
    return np.asarray(hashed % np.uint64(1009) % np.uint64(_FOLDS), dtype="int64")
