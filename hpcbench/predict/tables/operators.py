"""The table of operators: one row per operator on a device, in one form for all sources.

Sizes are counts, and NaN if a kind of operator does not have them. Times are seconds, powers watts, clocks megahertz.
"""

from __future__ import annotations

import pandas as pd

from hpcbench.predict.tables.prediction import QUANTITIES

# Kinds of operators. Gradients of convolutions have kinds of their own; those of products are products.
GEMM, BATCHED_GEMM = "gemm", "batched_gemm"
CONV, CONV_INPUT_GRADIENT, CONV_WEIGHT_GRADIENT = "conv", "conv_input_gradient", "conv_weight_gradient"
POINTWISE, SOFTMAX, LAYER_NORM, BATCH_NORM = "pointwise", "softmax", "layer_norm", "batch_norm"
POOLING, REDUCTION, COPY, GATHER = "pooling", "reduction", "copy", "gather"
ATTENTION, ATTENTION_DECODE = "attention", "attention_decode"
RNN, OPTIMIZER, FUSED, UNKNOWN = "rnn", "optimizer", "fused", "unknown"
# Fraction of the predicted time of a network in operators of UNKNOWN kind, above which it is refused: a choice, not
# fitted to data.
MOST_UNKNOWN = 0.10

# Phases of a training step. An empty phase counts as the forward pass.
FORWARD, BACKWARD, ACCUMULATE, UPDATE = "forward", "backward", "accumulate", "optimizer"

# How an operator was timed. A call has the cost of its launch and of the events around it; in a stream, it vanishes.
CALL, STREAM = "call", "stream"

# What an operator computes. `function` is the name within its kind: linear, bmm, gelu, add.
# Products: `batch` products of m x k and k x n. Convolutions are products, too: m = images x output pixels,
# n = output channels, k = input channels per group x kernel elements; `batch` is the number of groups.
# Row-wise operators: `rows` x `columns` elements. `inputs` is the number of tensors that they read.
# Attention: `batch`, `rows` queries, `columns` keys, `heads`, `kv_heads`, `head_dim`.
TEXT = ("kind", "function", "phase", "dtype", "layout")
SIZES = (
    *("batch", "m", "n", "k", "kernel", "stride"),
    *("rows", "columns", "inputs", "heads", "kv_heads", "head_dim"),
    *("flops", "bytes"),
)
WORK = (*TEXT, *SIZES)
# Where and how it was measured. `library` is the software, `kernel_name` that of the kernel; both may be empty.
# `kv_dtype` is the data type of cached keys and values; empty if it is `dtype`.
CONDITIONS = ("device", "library", "kernel_name", "timing", "kv_dtype", "clock_mhz", "power_limit_w", "threads")
TARGETS = QUANTITIES
# Where a row is from: the name of the file, and the number of the row in it, from 0.
ORIGIN = ("file", "row")
COLUMNS = (*ORIGIN, *CONDITIONS, *WORK, *TARGETS)
_NUMBERS = (*SIZES, "clock_mhz", "power_limit_w", "threads", *TARGETS)


def too_much_unknown(fraction: float, names: str = "") -> str:
    """Return why a network with this fraction of its time in operators of UNKNOWN kind is refused.

    `names` are those of the operators, if they are known. The reason is empty up to MOST_UNKNOWN, and for NaN.
    """
    if not fraction > MOST_UNKNOWN:
        return ""
    reason = f"operators of unknown kind take {100 * fraction:.3g} % of the predicted time"
    return f"{reason} (limit: {100 * MOST_UNKNOWN:.0f} %)" + (f": {names}" if names else "")


def complete(operators: pd.DataFrame) -> pd.DataFrame:
    """Return a table with all columns, in their order: missing text is empty, missing numbers are NaN."""
    found = operators.reindex(columns=list(COLUMNS))
    numbers = {name: found[name].astype("float64") for name in _NUMBERS}
    named = [name for name in COLUMNS if name not in (*_NUMBERS, "row")]
    text = {name: found[name].astype("object").where(found[name].notna(), "") for name in named}
    return found.assign(**text, **numbers, row=found["row"].fillna(-1).astype("int64"))
