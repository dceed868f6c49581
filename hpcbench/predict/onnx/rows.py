"""Operators of ONNX graphs without products: elementwise, normalizations, pooling, reductions, copies and look-ups."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hpcbench.predict.aten.call import Call, Work
from hpcbench.predict.aten.converter import Converter, rows_and_columns
from hpcbench.predict.onnx.node import attribute, known_inputs, read, written
from hpcbench.predict.tables import operators as table

_FUNCTIONS = {
    "Neg": "neg",
    "Clip": "clamp",
    "Softmax": "softmax",
    "LogSoftmax": "log_softmax",
    "Gelu": "gelu",
    "FastGelu": "gelu",
    "QuickGelu": "gelu",
    "BiasGelu": "gelu",
    "Transpose": "transpose",
    "Concat": "cat",
    "LayerNormalization": "layer_norm",
    "BatchNormalization": "batch_norm_evaluation",
    "Gather": "index_select",
}


def _function(call: Call) -> str:
    return _FUNCTIONS.get(call.name, call.name.lower())


def _elementwise(kind: str) -> Converter:
    """Return the converter of operators with the elements of their first output, or of a larger input."""

    def converted(call: Call) -> list[Work]:
        inputs = known_inputs(call)
        largest = max([written(call), *inputs], key=lambda each: each.elements)
        several = sum(each.elements > 1 for each in inputs) or 1
        sizes = {**rows_and_columns(largest.shape), "inputs": several if kind == table.POINTWISE else 1}
        return [{"kind": kind, "function": _function(call), **sizes, "flops": float(largest.elements)}]

    return converted


def _normalized(kind: str, default: int) -> Converter:
    """Return the converter of operators that normalize all dimensions from `axis` on; a softmax has one."""

    def converted(call: Call) -> list[Work]:
        shape = read(call, 0).shape
        axis = attribute(call, "axis", default)
        columns = shape[axis] if kind == table.SOFTMAX else math.prod(shape[axis % len(shape) :])
        elements = math.prod(shape)
        sizes = {"rows": elements // max(columns, 1), "columns": columns, "inputs": 1, "flops": float(elements)}
        return [{"kind": kind, "function": _function(call), **sizes}]

    return converted


def _by_channel(kind: str, *, per_image: bool) -> Converter:
    """Return the converter of operators that normalize each channel, of each image or of all."""

    def converted(call: Call) -> list[Work]:
        shape = read(call, 0).shape
        rows = shape[1] * (shape[0] if per_image else 1)
        elements = math.prod(shape)
        sizes = {"rows": rows, "columns": elements // max(rows, 1), "inputs": 1, "flops": float(elements)}
        return [{"kind": kind, "function": _function(call), **sizes}]

    return converted


def _by_group(groups: str, channels: int) -> Converter:
    """Return the converter of operators that normalize groups of channels of each image.

    `groups` is the attribute with their number, and `channels` the dimension of the channels.
    """

    def converted(call: Call) -> list[Work]:
        shape = read(call, 0).shape
        rows, elements = shape[0] * int(attribute(call, groups) or shape[channels]), math.prod(shape)
        sizes = {"rows": rows, "columns": elements // max(rows, 1), "inputs": 1, "flops": float(elements)}
        return [{"kind": table.LAYER_NORM, "function": _function(call), **sizes}]

    return converted


def _pooling(call: Call) -> list[Work]:
    inputs = read(call, 0)
    taps = math.prod(attribute(call, "kernel_shape") or inputs.shape[2:])
    work = {"function": _function(call), **rows_and_columns(inputs.shape), "inputs": 1, "kernel": math.sqrt(taps)}
    return [{"kind": table.POOLING, **work, "flops": float(inputs.elements)}]


def _reduction(call: Call) -> list[Work]:
    inputs, outputs = read(call, 0), written(call)
    rows = max(outputs.elements, 1)
    sizes = {"rows": rows, "columns": inputs.elements // rows, "inputs": 1, "flops": float(inputs.elements)}
    return [{"kind": table.REDUCTION, "function": _function(call), **sizes}]


_POINTWISE = (
    *("Relu", "Gelu", "FastGelu", "QuickGelu", "BiasGelu", "Sigmoid", "Tanh", "Erf", "Exp", "Log", "Sqrt", "Neg"),
    *("Abs", "Reciprocal", "Floor", "Ceil", "Round", "Sign", "Sin", "Cos", "Clip", "LeakyRelu", "PRelu", "Elu", "Selu"),
    *("Celu", "HardSwish", "HardSigmoid", "Softplus", "Softsign", "Mish", "Swish", "Add", "Sub", "Mul", "Div", "Pow"),
    *("Mod", "Min", "Max", "Sum", "Mean", "Where", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And"),
    *("Or", "Not", "Xor", "IsNaN", "IsInf", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "Resize"),
    *("Upsample", "RotaryEmbedding", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "LRN"),
    *("BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "ThresholdedRelu", "Shrink"),
)
_COPIES = (
    *("Concat", "Split", "Transpose", "Slice", "Pad", "Expand", "Tile", "Cast", "CastLike", "DepthToSpace"),
    *("SpaceToDepth", "Trilu", "Range", "EyeLike", "ReverseSequence", "Compress"),
)
_LOOKUPS = (
    *("Gather", "GatherND", "GatherElements", "ScatterND", "ScatterElements", "OneHot", "GridSample", "NonZero"),
    "EmbedLayerNormalization",
)
_REDUCTIONS = (
    *("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum"),
    *("ReduceLogSumExp", "ReduceSumSquare", "ArgMax", "ArgMin", "TopK", "CumSum"),
)
_POOLINGS = ("MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
_LAYER_NORMS = ("LayerNormalization", "SkipLayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization")
CONVERTERS: Mapping[str, Converter] = {
    **dict.fromkeys(_POINTWISE, _elementwise(table.POINTWISE)),
    **dict.fromkeys(_COPIES, _elementwise(table.COPY)),
    **dict.fromkeys(_LOOKUPS, _elementwise(table.GATHER)),
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), _normalized(table.SOFTMAX, -1)),
    **dict.fromkeys((*_LAYER_NORMS, "SkipSimplifiedLayerNormalization"), _normalized(table.LAYER_NORM, -1)),
    "InstanceNormalization": _by_channel(table.LAYER_NORM, per_image=True),
    "GroupNormalization": _by_group("num_groups", 1),
    "BatchNormalization": _by_channel(table.BATCH_NORM, per_image=False),
    **dict.fromkeys(_POOLINGS, _pooling),
    **dict.fromkeys(_REDUCTIONS, _reduction),
}
MICROSOFT: Mapping[str, Converter] = {  # channels are the last dimension
    **dict.fromkeys(("GroupNorm", "SkipGroupNorm"), _by_group("groups", -1))
}
