"""Fits that did not see a device, or a group of similar shapes. Rows are never divided at random."""

from __future__ import annotations

from hpcbench.predict.time.core import Core, fit_fleet
from hpcbench.predict.time.efficiency import Size
from hpcbench.predict.time.prepared import Prepared
from hpcbench.predict.time.shapes import FOLDS, shape_fold

# Fewer rounds than the model itself has, to save time.
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
    if any((fold != each).all() for each in range(FOLDS)):
        return ()
    return tuple(fit_fleet(rows.select(fold != each), _OF_SHAPES) for each in range(FOLDS))
