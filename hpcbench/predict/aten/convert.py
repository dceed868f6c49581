"""Convert the operators of lists and profiles to the columns of the predictor's table of operators."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.aten import (
    attention,
    convolutions,
    encoder_layers,
    memory,
    normalizations,
    nothing,
    optimizers,
    pointwise,
    products,
    recurrent,
)
from hpcbench.predict.aten.call import Call, Work, arguments_of
from hpcbench.predict.aten.converter import Converter
from hpcbench.predict.onnx import attention as onnx_attention
from hpcbench.predict.onnx import products as onnx_products
from hpcbench.predict.onnx import rows as onnx_rows
from hpcbench.predict.tables import operators as table

_ATEN = "aten"
_FAMILIES = (
    memory,
    pointwise,
    optimizers,
    products,
    convolutions,
    attention,
    normalizations,
    recurrent,
    encoder_layers,
)
_ONNX = {**onnx_rows.CONVERTERS, **onnx_products.CONVERTERS, **onnx_attention.CONVERTERS}
# The converters by library and name.
CONVERTERS: Mapping[str, Mapping[str, Converter]] = {
    _ATEN: {name: each for family in _FAMILIES for name, each in family.CONVERTERS.items()},
    "onnx": _ONNX,
    "com_microsoft": {**_ONNX, **onnx_rows.MICROSOFT, **onnx_attention.MICROSOFT},  # of ONNX Runtime
}
ORIGIN, SHARE = "origin", "share"
_FLOPS_PER_BYTE = 20.0  # ratio of the peaks in float32, in configs/devices 14 to 38 for CPUs, 9 to 106 for GPUs
_NOT_OF_ARGUMENTS = (
    *(KeyError, TypeError, ValueError, IndexError, AttributeError),
    *(ArithmeticError, RecursionError),
)


def converted(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what operators compute: the columns `table.WORK`, and where each row is from.

    `rows` has the columns `kind`, `operator`, `phase`, `arguments`, `dtype`, `flops` and `bytes_moved` of a list or of
    `operators.parquet`. An operator that launches several kernels has several rows, and one without work has none.
    `origin` is the place of its row, from 0; `share` is the fraction of its time, by the roofline of a device with a
    typical ratio of FLOP/s and bytes/s. An operator without a family has the kind `unknown`, and its whole name as its
    function.
    """
    names = ["kind", "operator", "phase", "arguments", "dtype", "flops", "bytes_moved"]
    found: list[Work] = []
    for place, values in enumerate(rows[names].itertuples(index=False, name=None)):
        kind, operator, phase, arguments, dtype, flops, moved = values
        call = (str(operator), str(arguments), str(phase), _text(dtype), _number(flops), _number(moved))
        works = () if kind in nothing.KINDS else _works(*call)
        shares = _shares(works)
        found += [{**work, ORIGIN: place, SHARE: share} for work, share in zip(works, shares, strict=True)]
    columns = [*table.WORK, ORIGIN, SHARE]
    frame = pd.DataFrame(found, columns=columns)
    complete = table.complete(frame)[list(table.WORK)]
    origin = frame.astype({ORIGIN: "int64", SHARE: "float64"})[[ORIGIN, SHARE]]
    return pd.concat([complete, origin], axis=1)


@lru_cache(maxsize=2**16)
def _works(
    operator: str, arguments: str, phase: str, dtype: str, flops: float, moved: float
) -> tuple[Mapping[str, Any], ...]:
    """Return the columns of each operator of a call."""
    library, _, rest = operator.partition(".")
    name = rest.partition(".")[0]
    if library == _ATEN and name in nothing.NAMES:
        return ()
    of_call = {"phase": phase, "dtype": dtype}
    unknown = {**of_call, "kind": table.UNKNOWN, "function": operator, "flops": flops, "bytes": moved}
    converter = CONVERTERS.get(library, {}).get(name)
    if converter is None:
        return (unknown,)
    try:
        found = converter(Call(name, phase, dtype, flops, moved, arguments_of(arguments)))
    except _NOT_OF_ARGUMENTS:  # of another version of PyTorch, or of a file that was changed
        return (unknown,)
    return tuple({**of_call, "flops": flops, "bytes": moved, **work} for work in found)


def _shares(works: tuple[Mapping[str, Any], ...]) -> list[float]:
    if len(works) <= 1:
        return [1.0] * len(works)
    sizes = np.array([[work["flops"], work["bytes"]] for work in works], dtype="float64")
    longer = np.nan_to_num(np.fmax(sizes[:, 0] / _FLOPS_PER_BYTE, sizes[:, 1]))
    total = float(np.sum(longer))
    return [float(each) / total if total else 1.0 / len(works) for each in longer]


def _number(value: Any) -> float:
    return math.nan if value is None or value is pd.NA else float(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
