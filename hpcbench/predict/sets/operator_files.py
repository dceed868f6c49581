"""The files of operators: `operators_time*.parquet` and `operators_power.parquet`, as the table of operators."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.predict.sets.columns import Getter, get_text
from hpcbench.predict.sets.data_types import cache_types, data_types
from hpcbench.predict.tables import operators as table

_MS, _MJ = 1e-3, 1e-3
_KINDS = {
    "linear": table.GEMM,
    "bmm": table.BATCHED_GEMM,
    "conv2d": table.CONV,
    "softmax": table.SOFTMAX,
    "layer_norm": table.LAYER_NORM,
    "attention_context": table.ATTENTION,
    "attention_generation": table.ATTENTION_DECODE,
}
_TWO_INPUTS = ("add", "mul", "div", "pow")
_WITH_SCALAR = {f"{name}u": name for name in _TWO_INPUTS}
_POINTWISE = (*_TWO_INPUTS, *_WITH_SCALAR, "relu", "gelu", "tanh")
_IN_A_STREAM = ("aiconfigurator",)  # sources that time replays of CUDA graphs


def operators(file: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a file as the table of operators, in the same order. Targets may be absent."""
    op = get_text(rows, "op")
    dtype = data_types(get_text(rows, "dtype"))
    get = Getter(rows)
    found = pd.DataFrame(
        {
            "file": file,
            "row": rows.index,
            "device": get_text(rows, "device"),
            "kind": op.map(_KINDS).where(~op.isin(_POINTWISE), table.POINTWISE).fillna(table.UNKNOWN),
            "function": op.replace(_WITH_SCALAR),
            "dtype": dtype,
            "kv_dtype": cache_types(rows, dtype),
            "library": get_text(rows, "library"),
            "kernel_name": get_text(rows, "kernel_name"),
            "timing": _timing(rows),
            "phase": "forward",
            "flops": get("flops"),
            "bytes": get("bytes"),
            "power_limit_w": get("power_limit_w"),
            "clock_mhz": get("clock_mhz"),
            "time_s": get("latency_ms") * _MS,
            "power_w": get("power_w"),
            "energy_j": get("energy_mj") * _MJ,
            **_sizes(op, get),
        }
    )
    return table.complete(found)


def _timing(rows: pd.DataFrame) -> pd.Series:
    """Return how each row was timed: the column `timing`, otherwise what the source does."""
    of_source = np.where(get_text(rows, "source").isin(_IN_A_STREAM), table.STREAM, table.CALL)
    given = get_text(rows, "timing")
    return given.where(given.isin((table.CALL, table.STREAM)), of_source)


def _sizes(op: pd.Series, get: Getter) -> dict[str, np.ndarray]:
    b, m, n, k = get("b"), get("m"), get("n"), get("k")
    linear, bmm, conv = (op == "linear").to_numpy(), (op == "bmm").to_numpy(), (op == "conv2d").to_numpy()
    context, decode = (op == "attention_context").to_numpy(), (op == "attention_generation").to_numpy()
    attention = context | decode
    row_wise = ~(linear | bmm | conv | attention)
    out = np.floor((get("size") + 2 * get("padding") - get("kernel")) / get("stride")) + 1
    return {
        "batch": np.select([linear | conv, bmm | attention], [1.0, b], np.nan),
        "m": np.select([linear, bmm, conv], [b * m, m, b * out**2], np.nan),
        "n": np.select([linear | bmm, conv], [n, get("c_out")], np.nan),
        "k": np.select([linear | bmm, conv], [k, get("c_in") * get("kernel") ** 2], np.nan),
        "kernel": get("kernel"),
        "stride": get("stride"),
        "rows": np.select([row_wise, decode, context], [b, 1.0, get("sequence")], np.nan),
        "columns": np.select(
            [row_wise, decode, context], [get("h"), get("cached_tokens") + 1, get("sequence")], np.nan
        ),
        "inputs": np.where(row_wise, np.where(op.isin(_TWO_INPUTS), 2.0, 1.0), np.nan),
        "heads": get("heads"),
        "kv_heads": get("kv_heads"),
        "head_dim": get("head_dim"),
    }
