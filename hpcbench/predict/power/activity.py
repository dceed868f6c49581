"""What operators demand from a device: seconds that their FLOPs and bytes take at its peak rates, at the boost clock.

The activity of a network is the sum over its operators. Divided by the time that they really take, activities are
utilizations, which decide the power.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import FLOAT32, Device
from hpcbench.predict.operators.device_columns import PRECISIONS, of_pairs, of_rows
from hpcbench.predict.operators.roofline import ATTENTIONS, MATRIX_KINDS, PRODUCTS, SHARPNESS, bounds
from hpcbench.predict.operators.tiles import tiling
from hpcbench.predict.tables.element_bytes import element_bytes, element_bytes_of
from hpcbench.predict.tables.prediction import Floats

# `matrix_s`: FLOPs on matrix units. `vector_s`: FLOPs of products on vector units. `attention_s`: FLOPs of attention.
# `product_s`, `vector_product_s`: expected times of products on matrix and vector units, with their partly filled
# tiles and waves. `row_wise_s`: bytes of all other operators. `memory_s`: all bytes. `kernels`: number of launches.
COLUMNS = (
    *("matrix_s", "vector_s", "attention_s", "product_s", "vector_product_s", "row_wise_s", "memory_s", "kernels"),
)
# Tiles of products, and their time per FLOP relative to that of the largest: small tiles load each operand more often
# (NVIDIA, "Matrix multiplication background user's guide", section 3).
_TILES = (
    ((256, 128), 1.0),
    ((128, 256), 1.0),
    ((128, 128), 1.05),
    ((128, 64), 1.2),
    ((64, 128), 1.2),
    ((64, 64), 1.45),
)
_FEWEST_BYTES = 64.0  # views of a few bytes launch nothing
_PROLOGUE = 96.0  # steps of the inner dimension that the start of a tile costs


def activity(rows: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
    """Return the activity of one call of each row of a table of operators; NaN if its device is unknown."""
    bound = bounds(rows, devices)
    kinds = rows["kind"]
    is_attention = kinds.isin(ATTENTIONS).to_numpy()
    is_product = kinds.isin(MATRIX_KINDS).to_numpy() & ~is_attention
    on_matrix_units = of_pairs(rows, rows["dtype"], devices, _is_faster_on_matrix_units) > 0
    filled = bound.compute_s / _fill(rows, devices)
    with np.errstate(invalid="ignore"):
        expected = (filled**SHARPNESS + bound.memory_s**SHARPNESS) ** (1 / SHARPNESS)
    products = np.where(is_product | is_attention, expected, 0.0)
    return pd.DataFrame(
        {
            "matrix_s": np.where(is_product & on_matrix_units, bound.compute_s, 0.0),
            "vector_s": np.where(is_product & ~on_matrix_units, bound.compute_s, 0.0),
            "attention_s": np.where(is_attention, bound.compute_s, 0.0),
            "product_s": np.where(on_matrix_units, products, 0.0),
            "vector_product_s": np.where(on_matrix_units, 0.0, products),
            "row_wise_s": np.where(is_product | is_attention, 0.0, bound.memory_s),
            "memory_s": bound.memory_s,
            "kernels": np.ones(len(rows)),
        },
        index=rows.index,
    )


def of_lists(lists: pd.DataFrame, asked: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
    """Return the activity of whole networks: one row per row of `asked`, with the columns of this module.

    `asked` has the columns `list_id`, `device` and `dtype`. A list in another data type is converted. Rows are NaN if
    their list or device is unknown, or the rate of a product in it.
    """
    keys = asked[["list_id", "device", "dtype"]].drop_duplicates()
    known = keys[keys["list_id"].isin(set(lists["list_id"])) & keys["device"].isin(set(devices))]
    summed = [
        _summed(as_dtype(lists[lists["list_id"].isin(set(own["list_id"]))], str(dtype)), str(device), devices)
        .reindex(own["list_id"].to_numpy())
        .set_axis(own.index)
        for (device, dtype), own in known.groupby(["device", "dtype"], sort=False, observed=True, dropna=False)
    ]
    sums = pd.concat(summed) if summed else pd.DataFrame(np.nan, known.index, list(COLUMNS))
    joined = asked[["list_id", "device", "dtype"]].merge(
        known.join(sums), on=["list_id", "device", "dtype"], how="left"
    )
    return joined[list(COLUMNS)].set_index(asked.index)


def as_dtype(rows: pd.DataFrame, dtype: str) -> pd.DataFrame:
    """Return operators as another data type computes them: the same FLOPs, and bytes by the size of its elements."""
    if dtype not in PRECISIONS:
        return rows
    factor = element_bytes(dtype) / element_bytes_of(rows["dtype"])
    return rows.assign(dtype=dtype, bytes=rows["bytes"] * np.where(rows["dtype"].isin(list(PRECISIONS)), factor, 1.0))


def _summed(rows: pd.DataFrame, device: str, devices: Mapping[str, Device]) -> pd.DataFrame:
    """Return the activity of each list in `rows` on a device, by its ID; NaN if that of an operator is unknown."""
    is_view = ~(rows["bytes"].astype("float64") >= _FEWEST_BYTES)
    each = activity(rows.assign(device=device), devices).mul(rows["calls"].to_numpy(dtype="float64"), axis=0)
    counted = each.mask(is_view, 0.0)
    is_known = np.isfinite(counted.to_numpy()).all(axis=1)
    by_list = rows["list_id"].to_numpy()
    return counted.groupby(by_list).sum().where(pd.Series(is_known, rows.index).groupby(by_list).all())


def _is_faster_on_matrix_units(device: Device, dtype: str) -> bool:
    return device.flops_per_s(PRECISIONS.get(dtype, FLOAT32)) > device.vector_flops_per_s


def _fill(rows: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
    """Return the fraction of the peak rate that products reach in their best tile; 1 for other operators."""
    units = of_rows(rows, devices, lambda device: float(device.units))
    batch, m, n, k = (rows[name].to_numpy(dtype="float64") for name in ("batch", "m", "n", "k"))
    with np.errstate(divide="ignore", invalid="ignore"):
        fills = [tiling(batch, m, n, units, tile).fill / cost for tile, cost in _TILES]
        best = np.max(fills, axis=0) * k / (k + _PROLOGUE)
    usable = rows["kind"].isin(PRODUCTS).to_numpy() & np.isfinite(best) & (best > 0)
    return np.where(usable, best, 1.0)
