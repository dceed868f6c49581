"""Numbers of 64 bits that identify the content of rows, and a hash of tables that does not depend on their order."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.devices.device import Device

_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, from the golden ratio: D. Knuth, TAOCP vol. 3, section 6.4
_SHIFT = np.uint64(29)
_ORIGIN = ("file", "row")


def row_digests(table: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.uint64]:
    """Return one number per row, equal for rows with equal values in these columns. All NaN are equal."""
    found = np.zeros(len(table), dtype=np.uint64)
    for name in columns:
        mixed = (found ^ _column(table[name])) * _FACTOR
        found = mixed ^ (mixed >> _SHIFT)
    return found


def data_hash(tables: Mapping[str, pd.DataFrame], devices: Mapping[str, Device]) -> str:
    """Return the SHA-256 of the rows of tables and of devices, in hexadecimal digits.

    The order of rows, their files and the numbers of rows in files do not change it.
    """
    digest = hashlib.sha256()
    for name, table in sorted(tables.items()):
        columns = sorted(column for column in table.columns if column not in _ORIGIN)
        digest.update(f"{name} {len(table)} {' '.join(columns)}\n".encode())
        digest.update(np.sort(row_digests(table, columns)).astype("<u8").tobytes())
    for device in sorted({repr(device) for device in devices.values()}):
        digest.update(device.encode())
    return digest.hexdigest()


def _column(column: pd.Series) -> NDArray[np.uint64]:
    if column.dtype.kind in "iuf":
        values = column.to_numpy(dtype="float64") + 0.0  # -0 is 0
        values[np.isnan(values)] = np.nan
        return values.view(np.uint64)
    codes, names = pd.factorize(column.astype("object"), use_na_sentinel=False)
    texts = [hashlib.sha256(str(name).encode()).digest()[:8] for name in names]
    return np.frombuffer(b"".join(texts), dtype="<u8").astype(np.uint64)[codes]
