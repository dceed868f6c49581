"""What the name of a kernel contains: the tile of the output that it computes, and whether it divides k.

cuBLAS names float32 kernels after their tile [1], as in `volta_sgemm_128x64_nn`, which covers 128 columns and 64 rows
of the output, because it stores matrices by columns. `sliced` kernels divide k among the warps of a block.

[1] NVIDIA, "Matrix multiplication background user's guide" (2023), section 3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hpcbench.predict.tables.prediction import Floats

_TILE = re.compile(r"(?:gemm[a-z_]*_|tilesize)(\d+)x(\d+)")


@dataclass(frozen=True)
class Kernels:
    """The kernels of rows; NaN if the name does not contain it."""

    rows: Floats  # of a tile
    columns: Floats
    is_sliced: Floats


def kernels(names: pd.Series) -> Kernels:
    """Return what the names of kernels contain."""
    found = {name: _kernel(name) for name in names.unique()}
    columns = np.array([found[name] for name in names], dtype="float64").reshape(len(names), 3).T
    return Kernels(*columns)


def _kernel(name: str) -> tuple[float, float, float]:
    tile = _TILE.search(name)
    if tile is None:
        return float("nan"), float("nan"), float("nan")
    return float(tile[2]), float(tile[1]), float("sliced" in name)
