"""The best efficiency that measured operators reach on each device, by group of operators."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.operators.device_columns import device_names
from hpcbench.predict.operators.precision import precisions
from hpcbench.predict.operators.roofline import PRODUCTS
from hpcbench.predict.operators.states import lowered
from hpcbench.predict.operators.sustained import sustained_bounds
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Floats

ROW_WISE = "row_wise"
# Groups with one efficiency each; kinds that are not listed have none.
GROUPS = {
    **{kind: kind for kind in (*PRODUCTS, table.SOFTMAX, table.LAYER_NORM)},
    table.POINTWISE: ROW_WISE,
    table.COPY: ROW_WISE,
}
# Assumptions: other values, such as half or twice a value, change the mean error of the public sets on left-out
# devices, which is 11 %, by at most 1 point.
_BEST = 0.9  # quantile of the efficiencies of operators of one size
_FEWEST = 30  # rows of one size, of a device and group
_WIDTH = float(np.log(3.0))  # of the classes of sizes, as a logarithm of the time at full rate
_CALL_QUANTILE = 0.01  # of the times of single calls: an operator without work
_LONGER = 8.0  # rows count from so many times the cost of a call on
_LEAST_SIDE = 48  # smallest m, n and k of a product that counts


def seconds_at_full_rate(rows: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
    """Return the soft maximum of the times for FLOPs and for bytes, in seconds, at the rates that devices sustain."""
    return sustained_bounds(rows, devices).soft_s()


def best_efficiencies(operators: pd.DataFrame, devices: Mapping[str, Device]) -> dict[str, dict[str, float]]:
    """Return the logarithms of efficiencies by group and precision, then device."""
    rows = _measured(operators, devices)
    if rows.empty:
        return {}
    sizes = rows.groupby(["key", "name", "size"])["log_efficiency"]
    best = sizes.quantile(_BEST)[sizes.size() >= _FEWEST]
    found: dict[str, dict[str, float]] = {}
    for row in best.groupby(level=["key", "name"]).max().rename("best").reset_index().to_dict("records"):
        found.setdefault(row["key"], {})[row["name"]] = float(row["best"])
    return found


def _measured(operators: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
    """Return the rows of the groups that are long against their call, with the logarithm of their efficiency."""
    valid = operators["kind"].isin(list(GROUPS)) & operators["device"].isin(list(devices)) & (operators["time_s"] > 0)
    rows = operators[valid]
    rows = rows[~lowered(rows, devices)]
    is_call = rows["timing"] == table.CALL
    calls = rows[is_call].groupby("device")["time_s"]
    least = {name: times.quantile(_CALL_QUANTILE) for name, times in calls}
    cost = np.where(is_call, rows["device"].map(least).astype("float64"), 0.0)
    full_s = seconds_at_full_rate(rows, devices)
    kernel_s = rows["time_s"].to_numpy() - cost
    sides = rows[["m", "n", "k"]].min(axis=1)
    long = (full_s > _LONGER * cost) & (kernel_s > 0) & ~(sides < _LEAST_SIDE).to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        found = rows.assign(
            name=device_names(rows, devices),
            key=rows["kind"].map(GROUPS) + " " + precisions(rows, devices),
            size=np.floor(np.log(full_s) / _WIDTH),
            log_efficiency=np.log(full_s / kernel_s),
        )
    return found[long]
