"""Features of operators on devices that have no dimension, so that they carry over to other devices.

Times enter as multiples of a microsecond, which stands for the latency of a kernel; sizes as counts, or divided by the
number of units or by the L2 cache.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.operators.device_columns import of_rows
from hpcbench.predict.operators.kernel_names import kernels
from hpcbench.predict.operators.roofline import ATTENTIONS, Bounds
from hpcbench.predict.operators.tiles import tiling
from hpcbench.predict.tables.element_bytes import element_bytes_of
from hpcbench.predict.tables.prediction import Floats

_LATENCY_S = 1e-6
_TILES = ((128, 128), (128, 64), (64, 64), (32, 32))
# Functions in the order of their usual cost.
_CHEAP = ("copy", "relu", "add", "sub", "mul", "div")
_COSTLY = ("sqrt", "exp", "log", "sin", "cos", "sigmoid", "silu", "tanh", "softplus", "erf", "gelu", "mish", "pow")
_FUNCTIONS = {name: float(place) for place, name in enumerate((*_CHEAP, *_COSTLY))}
_DTYPES = {"float32": 0.0, "tf32": 1.0, "float16": 2.0, "bfloat16": 2.0, "float8": 3.0, "float8_block": 4.0}
_LOAD_BYTES = 16.0  # of the widest load of a thread: larger alignments change nothing


def features(rows: pd.DataFrame, devices: Mapping[str, Device], bounds: Bounds) -> pd.DataFrame:
    """Return the features of the rows of a table of operators, one column each; NaN if a kind does not have one."""
    units = of_rows(rows, devices, lambda device: float(device.units))
    cache = of_rows(rows, devices, lambda device: device.l2_bytes)
    element = element_bytes_of(rows["dtype"])
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {
            "compute": _log(bounds.compute_s / _LATENCY_S),
            "memory": _log(bounds.memory_s / _LATENCY_S),
            "intensity": _log(bounds.compute_s / bounds.memory_s),
            "cache": _log(rows["bytes"].to_numpy(dtype="float64") / cache),
            "dtype": rows["dtype"].map(_DTYPES).fillna(0.0).to_numpy(dtype="float64"),
            "triton": rows["kernel_name"].str.contains("triton", case=False).to_numpy(dtype="float64"),
            **_products(rows, units, element),
            **_kernels(rows, units),
            **_row_wise(rows, units, element),
            **_attention(rows, units, element),
        }
    return pd.DataFrame(found, index=rows.index)


def _products(rows: pd.DataFrame, units: Floats, element: Floats) -> dict[str, Floats]:
    batch, m, n, k = (_sizes(rows, name) for name in ("batch", "m", "n", "k"))
    found = {
        "batch": _log(batch),
        "m": _log(m),
        "n": _log(n),
        "k": _log(k),
        "smaller": _log(np.minimum(m, n)),
        "m_alignment": _alignment(m, element),
        "n_alignment": _alignment(n, element),
        "k_alignment": _alignment(k, element),
        "work_per_unit": _log(batch * m * n / units),
        "kernel": _sizes(rows, "kernel"),
        "stride": _sizes(rows, "stride"),
        "reuse": _log(batch * m * k / _input_elements(rows, element)),
    }
    for tile in _TILES:
        each = tiling(batch, m, n, units, tile)
        name = f"{tile[0]}x{tile[1]}"
        found[f"waves_{name}"] = _log(each.waves)
        found[f"fill_{name}"] = _log(each.fill)
        found[f"wave_fill_{name}"] = _log(each.wave_fill)
    return found


def _kernels(rows: pd.DataFrame, units: Floats) -> dict[str, Floats]:
    """Return the features of named kernels; NaN for others."""
    named = kernels(rows["kernel_name"])
    batch, m, n = (_sizes(rows, name) for name in ("batch", "m", "n"))
    tiles = batch * np.ceil(m / named.rows) * np.ceil(n / named.columns)
    return {
        "kernel_tile": _log(named.rows * named.columns),
        "kernel_waves": _log(tiles / units),
        "kernel_fill": _log(batch * m * n / (tiles * named.rows * named.columns)),
        "sliced": named.is_sliced,
    }


def _input_elements(rows: pd.DataFrame, element: Floats) -> Floats:
    """Return the elements of the input that a product reads: all elements less the weights and the output."""
    batch, m, n, k = (_sizes(rows, name) for name in ("batch", "m", "n", "k"))
    return np.maximum(_sizes(rows, "bytes") / element - batch * (n * k + m * n), 1.0)


def _row_wise(rows: pd.DataFrame, units: Floats, element: Floats) -> dict[str, Floats]:
    count, columns = _sizes(rows, "rows"), _sizes(rows, "columns")
    return {
        "rows_per_unit": _log(count / units),
        "columns": _log(columns),
        "columns_alignment": _alignment(columns, element),
        "elements_alignment": _alignment(count * columns, element),
        "inputs": _sizes(rows, "inputs"),
        "function": rows["function"].map(_FUNCTIONS).to_numpy(dtype="float64"),
        "costly": np.asarray(rows["function"].isin(_COSTLY), dtype="float64"),
    }


def _attention(rows: pd.DataFrame, units: Floats, element: Floats) -> dict[str, Floats]:
    batch, heads, groups = _sizes(rows, "batch"), _sizes(rows, "heads"), _sizes(rows, "kv_heads")
    queries, keys, width = _sizes(rows, "rows"), _sizes(rows, "columns"), _sizes(rows, "head_dim")
    stored = element * width * batch * (2 * groups * keys + 2 * heads * queries)
    is_attention = rows["kind"].isin(ATTENTIONS).to_numpy()
    found = {
        "heads_per_unit": _log(batch * heads / units),
        "groups_per_unit": _log(batch * groups / units),
        "blocks_per_unit": _log(batch * heads * np.ceil(queries / 128) / units),
        "sharing": _log(heads / groups),
        "keys": _log(keys),
        "head_dim": width,
        "stored": _log(_sizes(rows, "bytes") / stored),
    }
    return {name: np.where(is_attention, values, np.nan) for name, values in found.items()}


def _sizes(rows: pd.DataFrame, name: str) -> Floats:
    return rows[name].to_numpy(dtype="float64")


def _alignment(values: Floats, element: Floats) -> Floats:
    """Return the binary logarithm of the largest power of two that divides each value, up to one load's elements."""
    whole = np.nan_to_num(values).astype("int64")
    power = np.where(whole > 0, whole & -whole, 1).astype("float64")
    return np.where(np.isnan(values), np.nan, np.log2(np.minimum(power, _LOAD_BYTES / element)))


def _log(values: Floats) -> Floats:
    """Return logarithms; NaN for values that are not positive."""
    return np.log(np.where(values > 0, values, np.nan))
