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


def device_names(rows: pd.DataFrame, devices: Mapping[str, Device]) -> pd.Series:
    """Return the primary name of the device of each row; names without a description are unchanged."""
    return rows["device"].map({name: device.name for name, device in devices.items()}).fillna(rows["device"])


def of_pairs(
    rows: pd.DataFrame, texts: pd.Series, devices: Mapping[str, Device], value: Callable[[Device, str], float]
) -> Floats:
    """Return a value of the device of each row and its text, such as a data type; NaN for unknown devices."""
    pairs = rows["device"].astype("object") + "\n" + texts.astype("object")
    first = ~pairs.duplicated()
    values = {
        pair: value(devices[name], text)
        for pair, name, text in zip(pairs[first], rows["device"][first], texts[first], strict=True)
        if name in devices
    }
    return pairs.map(values).to_numpy(dtype="float64", na_value=np.nan)


def product_rate(rows: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
    """Return the rate of matrix products in FLOP/s in the data type of each row.

    It is NaN for devices without a description, and for data types without a known precision.
    """
    return of_pairs(rows, rows["dtype"], devices, _rate)


def is_cpu(rows: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
    """Return 1 for rows on CPUs, and 0 for others."""
    return np.nan_to_num(of_rows(rows, devices, lambda device: float(device.kind == CPU)))


def _rate(device: Device, dtype: str) -> float:
    return device.flops_per_s(PRECISIONS[dtype]) if dtype in PRECISIONS else float("nan")
