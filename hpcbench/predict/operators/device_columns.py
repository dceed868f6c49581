"""The devices of a table's rows, as arrays with one value per row."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import (
    BFLOAT16,
    CPU,
    FLOAT8,
    FLOAT16,
    FLOAT32,
    INT8,
    TF32,
    Device,
)
from hpcbench.predict.tables.prediction import Floats

# The precision in which products of a data type are computed. Blocks of float8 have scales of their own.
PRECISIONS = {
    "float32": FLOAT32,
    "tf32": TF32,
    "float16": FLOAT16,
    "bfloat16": BFLOAT16,
    "float8": FLOAT8,
    "float8_block": FLOAT8,
    "int8": INT8,
}


def of_rows(rows: pd.DataFrame, devices: Mapping[str, Device], value: Callable[[Device], float]) -> Floats:
    """Return a value of the device of each row; NaN for devices without a description."""
    names = rows["device"]
    values = {name: value(devices[name]) for name in names.unique() if name in devices}
    return names.map(values).to_numpy(dtype="float64", na_value=np.nan)


def product_rate(rows: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
    """Return the rate of matrix products in FLOP/s in the data type of each row.

    It is NaN for devices without a description, and for data types without a known precision.
    """
    keys = rows["device"].astype("object") + "\n" + rows["dtype"].astype("object")
    rates = {key: _rate(key, devices) for key in keys.unique()}
    return keys.map(rates).to_numpy(dtype="float64", na_value=np.nan)


def is_cpu(rows: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
    """Return 1 for rows on CPUs, and 0 for others."""
    return np.nan_to_num(of_rows(rows, devices, lambda device: float(device.kind == CPU)))


def _rate(key: str, devices: Mapping[str, Device]) -> float:
    name, dtype = key.split("\n")
    if name not in devices or dtype not in PRECISIONS:
        return float("nan")
    return devices[name].flops_per_s(PRECISIONS[dtype])
