"""Bounds of the time of operators at rates that a device sustains, in place of those of its data sheet.

Three effects that data sheets do not show are in them:

- Power. A device at its power limit lowers its clock. The energy of a FLOP in a precision is proportional to the size
  of the process; the headroom h is the board's power over the power of the peak rate. The sustained fraction of that
  rate is the soft minimum of 1 and h. Dynamic power as a limit of rates: E. Rotem et al., IEEE Micro 32(2), 2012.
- Tiles. A kernel computes products in whole tiles; before the K steps, it fills its pipeline, and after them, it stores
  its tile (NVIDIA, "Matrix multiplication background user's guide", 2023, section 3). m and n are rounded up, and k is
  longer. Tiles of CPUs are smaller, and k is unchanged.
- Cache. Data that fit into the L2 cache are read from it: hits fall from 1 to 0 around the size of the cache, and its
  bandwidth grows with the number of units and the clock. Hierarchical roofline: A. Ilic, F. Pratas, L. Sousa,
  "Cache-aware roofline model", IEEE Computer Architecture Letters 13(1), 2014.

The constants are fitted to public sets of operators on six devices, without times of whole networks.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.devices.device import BFLOAT16, CPU, FLOAT8, FLOAT16, FLOAT32, INT8, TF32, Device
from hpcbench.predict.operators.device_columns import PRECISIONS, is_cpu, of_pairs, of_rows
from hpcbench.predict.operators.roofline import MATRIX_KINDS, PRODUCTS, Bounds, bounds
from hpcbench.predict.operators.tiles import TILE_OF_CORE
from hpcbench.predict.tables.prediction import Floats

# Power of 10^12 FLOP/s per nanometre of the process, in watts.
_WATTS = {FLOAT32: 1.28, TF32: 0.38, FLOAT16: 0.19, BFLOAT16: 0.19, FLOAT8: 0.10, INT8: 0.10}
_POWER_SHARPNESS = 4.0
_TILE = 64  # elements of an output tile of a GPU in each direction
_MORE_STEPS = 32  # of k, in which a tile could be computed while it is started and stored
_HALF_MISSES_AT = 0.85  # bytes over the size of the L2 cache
_CACHE_SHARPNESS = 2.5
_CACHE_BYTES_PER_CYCLE = 11.7  # of one unit, as small kernels reach it
_TERA, _MEGA = 1e12, 1e6


def sustained_bounds(rows: pd.DataFrame, devices: Mapping[str, Device]) -> Bounds:
    """Return the bounds of the rows of a table of operators in seconds, at sustained rates."""
    sheet = bounds(rows, devices)
    whole, more = _tiles(rows, is_cpu(rows, devices) > 0)
    compute_s = sheet.compute_s * whole * (1.0 / _sustained_fraction(rows, devices) + more)
    return Bounds(compute_s, _memory_s(rows, devices))


def _tiles(rows: pd.DataFrame, on_cpu: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the outputs of products in whole tiles over their outputs, and the additional K steps over k.

    They are 1 and 0 for other kinds.
    """
    m, n, k = (rows[name].to_numpy(dtype="float64") for name in ("m", "n", "k"))
    down, across = (np.where(on_cpu, core, _TILE) for core in TILE_OF_CORE)
    whole = np.ceil(m / down) * np.ceil(n / across) * (down * across) / (m * n)
    has_tiles = rows["kind"].isin(PRODUCTS).to_numpy() & np.isfinite(whole) & (k > 0)
    more = np.where(on_cpu, 0.0, _MORE_STEPS) / np.where(has_tiles, k, np.inf)
    return np.where(has_tiles, whole, 1.0), more


def _sustained_fraction(rows: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
    """Return the fraction of the peak rate that the board's power allows: (1 + h^-4)^(-1/4); 1 on CPUs."""
    precision = rows["dtype"].map(PRECISIONS).where(rows["kind"].isin(MATRIX_KINDS), FLOAT32).fillna(FLOAT32)
    return of_pairs(rows, precision, devices, _fraction)


def _fraction(device: Device, precision: str) -> float:
    if device.process_nm is None or device.kind == CPU:
        return 1.0
    watts = _WATTS[device.computed_in(precision)] * device.process_nm * device.flops_per_s(precision) / _TERA
    headroom = device.board_power_w / watts
    return float((1.0 + headroom**-_POWER_SHARPNESS) ** (-1.0 / _POWER_SHARPNESS))


def _memory_s(rows: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
    moved = np.nan_to_num(rows["bytes"].to_numpy(dtype="float64"))
    memory = of_rows(rows, devices, lambda device: device.memory_bytes_per_s)
    cache = of_rows(rows, devices, lambda device: device.l2_bytes)
    cycles = of_rows(rows, devices, lambda device: device.units * device.boost_mhz * _MEGA)
    fast = np.maximum(memory, cycles * _CACHE_BYTES_PER_CYCLE)
    with np.errstate(divide="ignore"):
        hits = 1.0 / (1.0 + (moved / (_HALF_MISSES_AT * cache)) ** _CACHE_SHARPNESS)
    hits = np.where(is_cpu(rows, devices) > 0, 0.0, hits)
    return np.asarray(moved * (1.0 - hits) / memory + moved * hits / fast)
