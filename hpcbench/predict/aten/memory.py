"""Operators that move elements and compute little: copies, fills, look-ups, reductions and pooling.

Their time depends on the bytes that they move, which the call has. `rows` and `columns` are those of the largest
tensor; a reduction has one row per element of its result, if the dimensions are known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from hpcbench.predict.aten.call import Call, Tensor, Tensors, Work
from hpcbench.predict.aten.converter import Converter, function_of, rows_and_columns
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.element_bytes import element_bytes


def _moving(kind: str) -> Converter:
    """Return the converter of operators of a kind, with the sizes of the largest tensor."""

    def converted(call: Call) -> list[Work]:
        return [{"kind": kind, "function": function_of(call.name), **_largest(call), "inputs": 1}]

    return converted


def _largest(call: Call) -> dict[str, int]:
    """Return rows and columns of the largest tensor of a call; of one without tensors, those of its bytes."""
    largest = max(call.tensors(), key=lambda each: each.elements, default=None)
    if largest is None:
        return {"rows": 1, "columns": max(int(call.bytes) // element_bytes(call.dtype), 1)}
    return rows_and_columns(largest.shape)


def _reduction(call: Call) -> list[Work]:
    inputs = call.tensor("self", "input")
    dimensions = call.arguments.get("dim")
    kept = _kept(inputs, dimensions)
    sizes = {"rows": kept, "columns": inputs.elements // max(kept, 1), "inputs": 1, "flops": float(inputs.elements)}
    return [{"kind": table.REDUCTION, "function": function_of(call.name), **sizes}]


def _kept(inputs: Tensor, dimensions: int | list[int] | None) -> int:
    """Return the elements of a reduction over some dimensions; 1 over all of them."""
    if dimensions is None or dimensions == []:
        return 1
    reduced = [dimensions] if isinstance(dimensions, int) else dimensions
    return inputs.elements // max(math.prod(inputs.shape[each] for each in reduced), 1) if inputs.shape else 1


def _pooling(call: Call) -> list[Work]:
    inputs = call.tensor("self", "input")
    taps = math.prod(call.arguments.get("kernel_size") or [1])
    work = {"function": function_of(call.name), **rows_and_columns(inputs.shape), "inputs": 1}
    return [{"kind": table.POOLING, **work, "kernel": math.sqrt(taps), "flops": float(inputs.elements)}]


def _norms(call: Call) -> list[Work]:
    """Return the norms of a list of tensors."""
    several = call.arguments["self"]
    found = (several.count, several.elements) if isinstance(several, Tensors) else _totals(several)
    sizes = {"rows": found[0], "columns": found[1] // max(found[0], 1), "inputs": 1, "flops": float(found[1])}
    return [{"kind": table.REDUCTION, "function": "norm", **sizes}]


def _totals(several: Iterable[Tensor]) -> tuple[int, int]:
    elements = [each.elements for each in several]
    return len(elements), sum(elements)


_COPIES = (
    *("clone", "copy", "_to_copy", "contiguous", "cat", "stack", "hstack", "repeat", "repeat_interleave", "roll"),
    *("flip", "rot90", "constant_pad_nd", "reflection_pad1d", "reflection_pad2d", "replication_pad2d", "im2col"),
    *("replication_pad1d", "col2im", "unfold_backward", "select_scatter", "slice_scatter", "as_strided_scatter"),
    *("diagonal_scatter", "pixel_shuffle", "pixel_unshuffle", "native_channel_shuffle", "channel_shuffle"),
    *("select", "slice", "diagonal", "as_strided", "split_with_sizes_copy", "expand_copy", "permute_copy"),
    *("view_copy", "tril", "triu", "index_fill", "lift_fresh_copy", "_to_dense", "bucketize", "resolve_conj"),
    *("diag_embed", "_conj_physical", "trace", "tril_indices", "triu_indices", "_pack_padded_sequence"),
)
_FILLS = (
    *("zeros", "ones", "full", "zero", "fill", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones"),
    *("new_full", "arange", "linspace", "scalar_tensor", "eye", "rand", "randn", "rand_like", "randn_like", "randint"),
    *("uniform", "normal", "exponential", "random", "randperm", "bernoulli_p", "_efficientzerotensor", "hann_window"),
)
_LOOKUPS = (
    *("embedding", "embedding_dense", "_embedding_bag", "index", "index_put", "_index_put_impl", "index_select"),
    *("index_add", "index_copy", "gather", "scatter", "scatter_add", "scatter_reduce", "take", "masked_select"),
    *("take_along_dim", "masked_scatter", "nll_loss_forward", "nll_loss", "nll_loss2d_forward", "nll_loss2d"),
    *("_unsafe_index", "_unsafe_index_put", "grid_sampler_2d", "grid_sampler_3d", "one_hot", "_unsafe_masked_index"),
    *("_unsafe_masked_index_put_accumulate", "searchsorted", "embedding_renorm"),
)
_REDUCTIONS = (
    *("sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "var", "var_mean", "std", "std_mean", "norm"),
    *("linalg_vector_norm", "prod", "all", "any", "logsumexp", "count_nonzero", "nansum", "aminmax", "median"),
)
_SCANS = ("cumsum", "cumprod", "logcumsumexp", "topk", "sort", "argsort", "cummax", "cummin", "equal", "_unique2")
_POOLINGS = (
    *("max_pool2d_with_indices", "max_pool3d_with_indices", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d"),
    *("avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "_adaptive_avg_pool2d"),
    *("_adaptive_avg_pool3d", "mkldnn_max_pool2d", "mkldnn_adaptive_avg_pool2d", "fractional_max_pool2d"),
)


def _named(names: Iterable[str], converter: Converter) -> dict[str, Converter]:
    """Return the converter by the names of operators, of their versions in place, and of their gradients."""
    return {name + suffix: converter for name in names for suffix in ("", "_", "_backward")}


CONVERTERS: Mapping[str, Converter] = {
    **_named((*_COPIES, *_FILLS), _moving(table.COPY)),
    **_named(_LOOKUPS, _moving(table.GATHER)),
    **_named(_REDUCTIONS, _reduction),
    **_named(_SCANS, _moving(table.REDUCTION)),
    **_named(_POOLINGS, _pooling),
    "_foreach_norm": _norms,
}
