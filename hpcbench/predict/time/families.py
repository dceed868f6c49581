"""Families of operators that share a model of their efficiency, and the features of each."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.predict.operators.roofline import ATTENTIONS, CONVOLUTIONS
from hpcbench.predict.tables import operators as table

GEMM, SCALED_GEMM, BATCHED_GEMM, CONV = "gemm", "scaled_gemm", "batched_gemm", "conv"
POINTWISE, SOFTMAX, NORM = "pointwise", "softmax", "norm"
ATTENTION, ATTENTION_DECODE = "attention", "attention_decode"
# Row-wise operators move bytes, and little else: their models have few features.
ROW_WISE = (POINTWISE, SOFTMAX, NORM)

_OF_KIND = {
    table.GEMM: GEMM,
    table.BATCHED_GEMM: BATCHED_GEMM,
    table.RNN: GEMM,
    table.SOFTMAX: SOFTMAX,
    table.LAYER_NORM: NORM,
    table.BATCH_NORM: NORM,
    table.ATTENTION: ATTENTION,
    table.ATTENTION_DECODE: ATTENTION_DECODE,
    **dict.fromkeys(CONVOLUTIONS, CONV),
    **dict.fromkeys(
        (table.POINTWISE, table.POOLING, table.REDUCTION, table.COPY, table.GATHER, table.OPTIMIZER, table.FUSED),
        POINTWISE,
    ),
}
# Kinds with measurements in the public sets. Others borrow the model of their family.
_OWN = (table.GEMM, table.BATCHED_GEMM, table.CONV, table.POINTWISE, table.SOFTMAX, table.LAYER_NORM, *ATTENTIONS)

_DEPTHWISE_CHANNELS = 2  # of a group

_BOUNDS = ("compute", "memory", "intensity", "cache", "dtype")
_TILES = tuple(
    f"{name}_{tile}"
    for name in ("waves", "fill", "wave_fill")
    for tile in ("128x128", "128x64", "64x64", "32x32")
)  # fmt: skip
_PRODUCT = (
    *_BOUNDS,
    *("batch", "m", "n", "k", "smaller", "m_alignment", "n_alignment", "k_alignment", "work_per_unit"),
    *_TILES,
)
NAMED = ("kernel_tile", "kernel_waves", "kernel_fill", "sliced")  # by the name of the kernel
_ROW_WISE = ("columns", "columns_alignment")
_HEADS = ("heads_per_unit", "groups_per_unit", "sharing", "keys", "head_dim", "stored", "batch")
FEATURES = {
    GEMM: (*_PRODUCT, *NAMED),
    SCALED_GEMM: (*_PRODUCT, "triton"),
    BATCHED_GEMM: (*_PRODUCT, *NAMED),
    CONV: (*_PRODUCT, "reuse", "kernel", "stride"),
    POINTWISE: (*_ROW_WISE, "elements_alignment", "inputs", "costly"),
    SOFTMAX: (*_ROW_WISE, "rows_per_unit"),
    NORM: (*_ROW_WISE, "rows_per_unit"),
    ATTENTION: (*_BOUNDS, *_HEADS, "blocks_per_unit", "triton"),
    ATTENTION_DECODE: (*_BOUNDS, *_HEADS, "triton"),
}
# Larger products of the same form are never less efficient, unless a card is throttled, which no feature shows.
_LARGER = ("compute", "k", "work_per_unit", *(name for name in _TILES if name.startswith("waves")))
FALLING = dict.fromkeys((GEMM, SCALED_GEMM, BATCHED_GEMM, CONV), _LARGER)
# Features over which devices differ: long kernels throttle, short ones do not, and memories and caches differ.
SLOPES = {
    **dict.fromkeys((GEMM, SCALED_GEMM, BATCHED_GEMM, CONV), ("compute", "k", "intensity")),
    **dict.fromkeys(ROW_WISE, ("columns",)),
    **dict.fromkeys((ATTENTION, ATTENTION_DECODE), ("compute", "keys")),
}


def families(rows: pd.DataFrame) -> pd.Series:
    """Return the family of each row of a table of operators; empty for kinds without one.

    Products of blocks of float8 with scales have a family of their own. Convolutions with one channel per group move
    bytes like pointwise operators; m or n, which one depends on the gradient, counts the channels of a group.
    """
    found = rows["kind"].map(_OF_KIND).fillna("")
    found = found.mask((found == GEMM) & (rows["dtype"] == "float8_block"), SCALED_GEMM)
    depthwise = (found == CONV) & (rows["batch"] > 1) & (rows[["m", "n"]].min(axis=1) <= _DEPTHWISE_CHANNELS)
    return found.mask(depthwise, POINTWISE)


def borrowed(rows: pd.DataFrame) -> np.ndarray:
    """Return whether the kind of each row borrows the model of its family."""
    depthwise = rows["kind"].isin(CONVOLUTIONS) & (rows["batch"] > 1)
    return (~rows["kind"].isin(_OWN) | depthwise).to_numpy(dtype=bool)
