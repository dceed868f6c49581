"""Fit the model of the time of operators on a table with times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.operators.device_columns import device_names
from hpcbench.predict.time.calibrate import few_operators, seen_devices, unseen_devices
from hpcbench.predict.time.core import fit_fleet, with_few
from hpcbench.predict.time.efficiency import Size
from hpcbench.predict.time.families import families
from hpcbench.predict.time.few_rows import MOST_FEW
from hpcbench.predict.time.folds import without_devices, without_shapes
from hpcbench.predict.time.hull import hull
from hpcbench.predict.time.left_out import LeftOut
from hpcbench.predict.time.model import PRIOR, OperatorTime
from hpcbench.predict.time.prepared import prepare
from hpcbench.predict.time.priors import CALIBRATION
from hpcbench.predict.time.usable import capped, usable

# Assumptions: the first three bound the time of a fit.
_MOST_ROWS = 3000  # of a device, family and data type
_MOST_SEEN_ROWS, _MOST_UNSEEN_ROWS = 1500, 400  # of the same, in calibrations


def fit_with_left_out(operators: pd.DataFrame, devices: Mapping[str, Device]) -> LeftOut:
    """Return the model of a table of operators with times, and fits without each device and group of shapes.

    Without usable rows, the model is the prior of public sets. Devices with few rows do not enter the fleet: their
    rows correct it for them. Without devices that have many rows, intervals are those of the prior. Rows that cannot be
    used are counted in `flaws`.
    """
    rows, flaws = usable(operators, devices)
    if rows.empty:
        return LeftOut(replace(PRIOR, flaws=tuple(flaws)))
    chosen = prepare(rows[capped(rows, _MOST_ROWS)], devices)
    is_few = (chosen.names.map(chosen.names.value_counts()) <= MOST_FEW).to_numpy(dtype=bool)
    many, few = chosen.select(~is_few), chosen.select(is_few)
    vendors = frozenset(devices[name].vendor for name in many.rows["device"].unique())
    core = with_few(fit_fleet(many, Size()), few)
    hulls = {name: hull(name, many.features[(many.family == name).to_numpy()]) for name in core.efficiencies}
    model = OperatorTime(
        core, hulls, CALIBRATION, CALIBRATION, CALIBRATION, _counts(rows, devices), tuple(flaws), vendors
    )
    if many.rows.empty:
        return LeftOut(model, few=few)
    of_shapes = many.select(capped(many.rows, _MOST_SEEN_ROWS, seed=1))
    of_devices = many.select(capped(many.rows, _MOST_UNSEEN_ROWS, seed=1))
    shapes, fleets = without_shapes(of_shapes), without_devices(of_devices)
    calibrated = replace(
        model,
        seen=seen_devices(of_shapes, shapes),
        unseen=unseen_devices(of_devices, fleets),
        few=few_operators(of_devices, fleets),
    )
    return LeftOut(calibrated, fleets, shapes, few)


def _counts(rows: pd.DataFrame, devices: Mapping[str, Device]) -> dict[str, int]:
    """Return the number of rows by "family|device"."""
    found = (families(rows) + "|" + device_names(rows, devices)).value_counts()
    return {str(key): int(count) for key, count in found.items()}
