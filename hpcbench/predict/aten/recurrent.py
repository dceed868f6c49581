"""Layers of RNNs: `batch` sequences of `rows` steps; a step is a product of m = batch, n = gates, k = all inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hpcbench.predict.aten.call import Call, Tensor, Work
from hpcbench.predict.aten.converter import Converter
from hpcbench.predict.tables import operators as table

# Modes of oneDNN and cuDNN: their names, and the number of gates.
_MODES = {0: ("rnn", 1), 1: ("rnn", 1), 2: ("lstm", 4), 3: ("gru", 3)}
_BACKWARD_PRODUCTS = 2  # of the inputs and of the weights, each as many FLOPs as the forward pass


def _layer(call: Call) -> list[Work]:
    """Return a layer of oneDNN: inputs (time, batch, width)."""
    inputs, hidden = call.tensor("input"), int(call.arguments["hidden_size"])
    steps, batch, width = inputs.shape
    return [_work(call, steps, batch, width, hidden)]


def _stack(call: Call) -> list[Work]:
    """Return the layers and directions of cuDNN: inputs (time, batch, width), or (batch, time, width)."""
    inputs, hidden = call.tensor("input"), int(call.arguments["hidden_size"])
    steps, batch, width = inputs.shape
    if call.arguments.get("batch_first"):
        steps, batch = batch, steps
    directions = 2 if call.arguments.get("bidirectional") else 1
    layers = range(int(call.arguments.get("num_layers", 1)))
    each = [_work(call, steps, batch, hidden * directions if layer else width, hidden) for layer in layers]
    share = call.bytes / (len(each) * directions)
    return [{**work, "bytes": share} for work in each for _ in range(directions)]


def _work(call: Call, steps: int, batch: int, width: int, hidden: int) -> Work:
    name, gates = _MODES[int(call.arguments["mode"])]
    is_backward = call.name.endswith("_backward")
    m, n, k = batch, gates * hidden, width + hidden
    flops = 2.0 * steps * m * n * k * (_BACKWARD_PRODUCTS if is_backward else 1)
    function = f"{name}_backward" if is_backward else name
    sizes = {"batch": batch, "rows": steps, "m": m, "n": n, "k": k, "columns": hidden}
    return {"kind": table.RNN, "function": function, **sizes, "flops": flops}


def _cell(call: Call) -> list[Work]:
    """Return the gates of one step, whose products are operators of their own."""
    largest: Tensor = max(call.tensors(), key=lambda each: each.elements)
    function = "lstm_cell" if "lstm" in call.name else "gru_cell"
    rows = math.prod(largest.shape[:-1])
    sizes = {"rows": rows, "columns": largest.shape[-1], "inputs": 2, "flops": float(largest.elements)}
    return [{"kind": table.POINTWISE, "function": function, **sizes}]


_CELLS = ("_thnn_fused_lstm_cell", "_thnn_fused_gru_cell")
CONVERTERS: Mapping[str, Converter] = {
    **dict.fromkeys(("mkldnn_rnn_layer", "mkldnn_rnn_layer_backward"), _layer),
    **dict.fromkeys(("_cudnn_rnn", "_cudnn_rnn_backward", "miopen_rnn", "miopen_rnn_backward"), _stack),
    **dict.fromkeys((*_CELLS, *(f"{name}_backward" for name in _CELLS), f"{_CELLS[0]}_backward_impl"), _cell),
}
