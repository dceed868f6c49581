"""Products of matrices: `batch` products of m x k and k x n."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hpcbench.predict.aten.call import Call, Work
from hpcbench.predict.aten.converter import Converter
from hpcbench.predict.tables import operators as table


def product(batch: int, m: int, n: int, k: float, function: str = "linear", kind: str = table.GEMM) -> Work:
    """Return the columns of `batch` products of m x k and k x n."""
    return {
        "kind": kind,
        "function": function,
        "batch": batch,
        "m": m,
        "n": n,
        "k": k,
        "flops": 2.0 * batch * m * n * k,
    }


def _matrices(call: Call) -> list[Work]:
    """Return the product of two matrices, or of a matrix and a vector."""
    first, second = call.tensor("mat1", "mat", "self"), call.tensor("mat2", "vec2", "vec", "tensor")
    m, k = (1, first.shape[0]) if len(first.shape) == 1 else first.shape
    n = 1 if len(second.shape) == 1 else second.shape[1]
    return [product(1, m, n, k)]


def _linear(call: Call) -> list[Work]:
    inputs, weight = call.tensor("input", "self"), call.tensor("weight")
    return [product(1, math.prod(inputs.shape[:-1]), weight.shape[0], inputs.shape[-1])]


def _batched(call: Call) -> list[Work]:
    first, second = call.tensor("batch1", "self"), call.tensor("batch2", "mat2")
    batch, m, k = first.shape
    return [product(batch, m, second.shape[2], k, "bmm", table.BATCHED_GEMM)]


CONVERTERS: Mapping[str, Converter] = {
    **dict.fromkeys(("mm", "addmm", "_addmm_activation", "mv", "addmv", "dot", "vdot", "_int_mm"), _matrices),
    **dict.fromkeys(("linear", "mkldnn_linear", "_linear_pointwise"), _linear),
    **dict.fromkeys(("bmm", "baddbmm", "addbmm"), _batched),
}
