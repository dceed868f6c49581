"""Elementwise operators: each element of the result depends on one element of each input."""

from __future__ import annotations

from collections.abc import Mapping

from hpcbench.predict.aten.call import Call, Work
from hpcbench.predict.aten.converter import Converter, broadcast, function_of, rows_and_columns
from hpcbench.predict.tables import operators as table

# PyTorch's name of an activation or of its gradient, if it differs from the usual one.
_FUNCTIONS = {"threshold_backward": "relu_backward", "threshold": "relu", "bernoulli": "dropout", "rsub": "sub"}


def _pointwise(call: Call) -> list[Work]:
    tensors = list(call.tensors())
    if not tensors:
        raise KeyError("self")
    shape = broadcast(each.shape for each in tensors)
    sizes = rows_and_columns(shape)
    elements = sizes["rows"] * sizes["columns"]
    inputs = sum(each.elements > 1 for each in tensors) or 1
    function = function_of(call.name)
    work = {"function": _FUNCTIONS.get(function, function), **sizes, "inputs": inputs, "flops": float(elements)}
    return [{"kind": table.POINTWISE, **work}]


def _gated(call: Call) -> list[Work]:
    """Return an operator of two halves of its input, whose result has half of its elements."""
    inputs = call.tensor("self")
    sizes = rows_and_columns(inputs.shape)
    work = {"function": function_of(call.name), **sizes, "inputs": 1, "flops": inputs.elements / 2}
    return [{"kind": table.POINTWISE, **work}]


def _resized(call: Call) -> list[Work]:
    """Return an interpolation: the elements of the larger of input and output, of which the call shows one or both."""
    inputs = call.tensor("self", "input", "grad_output")
    sizes = rows_and_columns(inputs.shape)
    return [{"kind": table.POINTWISE, "function": "upsample", **sizes, "inputs": 1, "flops": float(inputs.elements)}]


_ACTIVATIONS = (
    *("relu", "relu6", "gelu", "silu", "mish", "hardswish", "hardsigmoid", "hardtanh", "sigmoid", "tanh", "elu"),
    *("celu", "selu", "leaky_relu", "softplus", "hardshrink", "softshrink", "threshold", "log_sigmoid"),
    *(
        "_prelu_kernel",
        "rrelu_with_noise",
        "native_dropout",
        "_fused_dropout",
        "_masked_scale",
        "_weight_norm_interface",
    ),
)
_LOSSES = (
    *("mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"),
    *("kl_div", "l1_loss", "soft_margin_loss"),
)
_UNARY = (
    *("abs", "neg", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "square", "reciprocal"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv"),
    *("floor", "ceil", "round", "trunc", "frac", "sign", "sgn", "signbit", "logit", "sinc", "digamma", "lgamma"),
    *("clamp", "clamp_min", "clamp_max", "nan_to_num", "logical_not", "bitwise_not", "isnan", "isinf", "isfinite"),
    *("log_sigmoid_forward", "bernoulli", "real", "imag", "polar", "angle", "conj_physical", "special_erfcx"),
)
_SEVERAL = (
    *("add", "sub", "rsub", "mul", "div", "pow", "maximum", "minimum", "fmax", "fmin", "atan2", "fmod", "remainder"),
    *("floor_divide", "true_divide", "hypot", "copysign", "eq", "ne", "lt", "le", "gt", "ge", "xlogy", "logaddexp"),
    *("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "__and__", "__or__"),
    *("where", "addcmul", "addcdiv", "lerp", "masked_fill", "heaviside", "complex", "bitwise_left_shift"),
    *("__lshift__", "__rshift__", "bitwise_right_shift", "isclose"),
)
_RESIZED = (
    *("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact2d"),
    *("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d"),
    *("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"),
)
_ALL = (*_ACTIVATIONS, *_LOSSES, *_UNARY, *_SEVERAL)
CONVERTERS: Mapping[str, Converter] = {
    **dict.fromkeys(_ALL, _pointwise),
    **dict.fromkeys((f"{name}_" for name in _ALL), _pointwise),
    **dict.fromkeys((f"{name}_backward" for name in _ALL), _pointwise),
    **dict.fromkeys(("glu", "glu_backward"), _gated),
    **dict.fromkeys(_RESIZED, _resized),
    **dict.fromkeys((f"{name}_backward" for name in _RESIZED), _resized),
}
