"""What the operators of `task: operator` compute, in the columns of the table of operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from hpcbench.models.operators import movement, normalization, pointwise, products, recurrent, reductions
from hpcbench.models.operators.operator import BOTH, FORWARD, OF_INPUTS, OF_WEIGHTS, Operator
from hpcbench.predict.aten.attention import attention
from hpcbench.predict.aten.call import Work
from hpcbench.predict.aten.convolutions import CHANNELS_FIRST
from hpcbench.predict.aten.products import product
from hpcbench.predict.tables import operators as table


def works_of(operator: Operator, phase: str, dtype_bytes: int) -> list[Work]:
    """Return what a call of an operator computes; nothing for loops of operators, sparse products and collectives.

    The phase `both` has a row for each gradient. `share` is the fraction of the time, by FLOPs.
    """
    converter = _CONVERTERS.get(type(operator))
    if converter is None:
        return []
    is_one = phase != BOTH or type(operator) not in _SEPARATE
    phases = [phase] if is_one else [OF_INPUTS, OF_WEIGHTS]
    found = [_work(operator, each, dtype_bytes, converter) for each in phases]
    total = sum(work["flops"] for work in found)
    return [{**work, "share": work["flops"] / total} for work in found]


def _work(operator: Operator, phase: str, dtype_bytes: int, converter: Callable[[Any, str], Work]) -> Work:
    work = converter(operator, phase)
    flops = float(operator.flops(phase)) or work.get("flops") or float(operator.output().size)
    is_forward = phase == FORWARD
    function = str(work["function"])
    return {
        **work,
        "function": function if is_forward or work["kind"] in _PRODUCTS else f"{function}_backward",
        "phase": FORWARD if is_forward else table.BACKWARD,
        "flops": flops,
        "bytes": float(operator.bytes_moved(phase, dtype_bytes)),
    }


def _product(batch: int, m: int, n: int, k: int, phase: str, function: str = "linear") -> Work:
    """Return a product of m x k and k x n, or the product that is the gradient of its first or second factor."""
    sizes = {FORWARD: (m, n, k), OF_INPUTS: (m, k, n), OF_WEIGHTS: (k, n, m)}[phase]
    return product(batch, *sizes, function, table.BATCHED_GEMM if batch > 1 else table.GEMM)


def _bmm(of: products.Bmm, phase: str) -> Work:
    """Return the product; the gradients of both factors are inputs, and take two products."""
    if phase == FORWARD:
        return _product(of.batch, of.m, of.n, of.k, phase, "bmm")
    return {**_product(of.batch, of.m, of.k, of.n, FORWARD, "bmm"), "batch": 2 * of.batch}


def _conv2d(of: products.Conv2d, phase: str) -> Work:
    images, channels, height, width = of.output().shape
    taps = of.filter_h * of.filter_w
    pixels, inputs = images * height * width, of.n * of.h * of.w
    sizes = {
        FORWARD: (pixels, channels, of.c_in * taps),
        OF_INPUTS: (inputs, of.c_in, pixels * channels * taps / inputs),  # as many MACs as the forward pass
        OF_WEIGHTS: (channels, of.c_in * taps, pixels),
    }[phase]
    return {
        **product(1, *sizes),
        "kind": _CONVOLUTIONS[phase],
        "function": "conv2d",
        "kernel": math.sqrt(taps),
        "stride": math.sqrt(of.stride_h * of.stride_w),
        "layout": CHANNELS_FIRST,
    }


def _attention(of: products.Attention, phase: str) -> Work:
    return attention(of.batch, of.heads, of.time, of.time, of.head_size)


def _lstm(of: recurrent.Lstm, phase: str) -> Work:
    sizes = {"batch": of.batch, "rows": of.timesteps, "columns": of.hidden}
    return {
        "kind": table.RNN,
        "function": "lstm",
        **sizes,
        "m": of.batch,
        "n": 4 * of.hidden,
        "k": of.inputs + of.hidden,
    }


def _rows(kind: str, rows: int, columns: int, function: str, inputs: int = 1) -> Work:
    sizes = {"rows": rows, "columns": columns, "inputs": inputs, "flops": float(rows * columns)}
    return {"kind": kind, "function": function, **sizes}


def _elements(kind: str) -> Callable[[Any, str], Work]:
    """Return the converter of operators that have one row of elements."""

    def converted(of: Operator, phase: str) -> Work:
        inputs = 2 if isinstance(of, pointwise.Add) else 1
        size = max(array.size for array in (*of.arrays().values(), of.output()))
        return _rows(kind, 1, size, of.title, inputs)

    return converted


def _batch_norm(of: normalization.BatchNorm, phase: str) -> Work:
    function = "batch_norm" if of.training else "batch_norm_evaluation"
    return _rows(table.BATCH_NORM, of.c, of.n * of.h * of.w, function)


def _pooling(of: reductions.Pooling, phase: str) -> Work:
    work = _rows(table.POOLING, of.n * of.c * of.h, of.w, f"{of.mode}_pool2d")
    return {**work, "kernel": of.kernel, "stride": of.stride}


_CONVOLUTIONS = {
    FORWARD: table.CONV,
    OF_INPUTS: table.CONV_INPUT_GRADIENT,
    OF_WEIGHTS: table.CONV_WEIGHT_GRADIENT,
}
_PRODUCTS = (table.GEMM, table.BATCHED_GEMM, *_CONVOLUTIONS.values())
_SEPARATE = (products.Gemm, products.Linear, products.Conv2d)  # whose gradients are kernels of their own
_CONVERTERS: Mapping[type[Operator], Callable[[Any, str], Work]] = {
    products.Gemm: lambda of, phase: _product(1, of.m, of.n, of.k, phase),
    products.Linear: lambda of, phase: _product(1, of.rows, of.outputs, of.inputs, phase),
    products.Bmm: _bmm,
    products.Conv2d: _conv2d,
    products.Attention: _attention,
    recurrent.Lstm: _lstm,
    normalization.Softmax: lambda of, phase: _rows(table.SOFTMAX, of.rows, of.columns, "softmax"),
    normalization.LayerNorm: lambda of, phase: _rows(table.LAYER_NORM, of.rows, of.features, "layer_norm"),
    normalization.BatchNorm: _batch_norm,
    reductions.Pooling: _pooling,
    reductions.Sum: lambda of, phase: _rows(table.REDUCTION, of.rows, of.columns, "sum"),
    reductions.CrossEntropy: lambda of, phase: _rows(table.SOFTMAX, of.rows, of.classes, "cross_entropy"),
    reductions.Mse: _elements(table.REDUCTION),
    pointwise.Relu: _elements(table.POINTWISE),
    pointwise.Gelu: _elements(table.POINTWISE),
    pointwise.Tanh: _elements(table.POINTWISE),
    pointwise.Add: _elements(table.POINTWISE),
    pointwise.Dropout: _elements(table.POINTWISE),
    movement.Embedding: lambda of, phase: _rows(table.GATHER, of.tokens, of.width, "embedding"),
    movement.Transpose: lambda of, phase: _rows(table.COPY, of.rows, of.columns, "transpose"),
    movement.Concat: _elements(table.COPY),
    movement.Flatten: _elements(table.COPY),
}
