"""Softmax and normalizations: `rows` groups of `columns` elements that are normalized together."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hpcbench.predict.aten.call import Call, Work
from hpcbench.predict.aten.converter import Converter, function_of, without_backward
from hpcbench.predict.tables import operators as table


def _work(call: Call, kind: str, elements: int, columns: int) -> list[Work]:
    sizes = {"rows": elements // max(columns, 1), "columns": columns, "inputs": 1, "flops": float(elements)}
    return [{"kind": kind, "function": function_of(call.name).removesuffix("_data"), **sizes}]


def _softmax(call: Call) -> list[Work]:
    inputs = call.tensor("self", "output", "grad_output")
    dimension = call.arguments.get("dim")
    columns = inputs.shape[-1 if dimension is None else dimension] if inputs.shape else 1
    return _work(call, table.SOFTMAX, inputs.elements, columns)


def _layer_norm(call: Call) -> list[Work]:
    inputs = call.tensor("input")
    return _work(call, table.LAYER_NORM, inputs.elements, math.prod(call.integers("normalized_shape")))


def _group_norm(call: Call) -> list[Work]:
    inputs, groups = call.tensor("input"), int(call.arguments["group"])
    return _work(call, table.LAYER_NORM, inputs.elements, inputs.elements // (inputs.shape[0] * groups))


def _batch_norm(call: Call) -> list[Work]:
    """Return `rows` channels of `columns` elements. In evaluation, no statistics are computed."""
    inputs = call.tensor("input", "self")
    (work,) = _work(call, table.BATCH_NORM, inputs.elements, inputs.elements // inputs.shape[1])
    trains = bool(call.arguments.get("training", call.arguments.get("train", "no_training" not in call.name)))
    gradient = "_backward" if without_backward(call.name) != call.name else ""
    return [{**work, "function": f"batch_norm{gradient}" if trains else f"batch_norm_evaluation{gradient}"}]


_SOFTMAX = ("_softmax", "_log_softmax", "_safe_softmax", "_masked_softmax", "softmax", "log_softmax")
_BATCH_NORM = (
    "native_batch_norm",
    "cudnn_batch_norm",
    "miopen_batch_norm",
    "batch_norm",
    "_batch_norm_with_update",
    "_batch_norm_no_update",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_functional",
    "_native_batch_norm_legit_no_training",
)
CONVERTERS: Mapping[str, Converter] = {
    **dict.fromkeys(_SOFTMAX, _softmax),
    **dict.fromkeys((f"{name}_backward_data" for name in _SOFTMAX), _softmax),
    **dict.fromkeys(("native_layer_norm", "native_layer_norm_backward"), _layer_norm),
    **dict.fromkeys(("_fused_rms_norm", "_fused_rms_norm_backward", "rms_norm"), _layer_norm),
    **dict.fromkeys(("native_group_norm", "native_group_norm_backward"), _group_norm),
    **dict.fromkeys(_BATCH_NORM, _batch_norm),
    **dict.fromkeys((f"{name}_backward" for name in _BATCH_NORM), _batch_norm),
}
