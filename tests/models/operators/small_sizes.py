"""Sizes of operators for tests: small, and odd enough that exchanged dimensions show."""

from __future__ import annotations

from typing import Any

SIZES: dict[str, list[dict[str, Any]]] = {
    "conv2d": [
        {"n": 2, "c_in": 3, "h": 9, "w": 11, "c_out": 5, "filter_w": 2, "pad_w": 0, "stride_h": 2},
        {"n": 1, "c_in": 2, "h": 5, "w": 6, "c_out": 3, "filter_h": 1, "pad_h": 0, "pad_w": 2, "stride_w": 3},
    ],
    "gemm": [
        {"m": 7, "n": 5, "k": 13, "a_trans": a_trans, "b_trans": b_trans}
        for a_trans in (False, True)
        for b_trans in (False, True)
    ],
    "bmm": [{"batch": 3, "m": 4, "n": 5, "k": 6}],
    "sparse_gemm": [{"m": 20, "n": 5, "k": 30}],
    "linear": [{"rows": 4, "inputs": 9, "outputs": 6}],
    "attention": [{"batch": 2, "heads": 3, "time": 7, "head_size": 4, "causal": causal} for causal in (False, True)],
    "lstm": [{"inputs": 5, "hidden": 6, "batch": 3, "timesteps": 4}],
    **{name: [{"hidden": 6, "batch": 3, "timesteps": 4}] for name in ("lstm_cell", "gru_cell", "rnn_cell")},
    "softmax": [{"rows": 4, "columns": 9}],
    "layer_norm": [{"rows": 4, "features": 9}],
    "batch_norm": [{"n": 2, "c": 3, "h": 4, "w": 5, "training": training} for training in (True, False)],
    "pooling": [
        {"n": 2, "c": 3, "h": 9, "w": 8, "kernel": 3, "stride": 2, "pad": 1, "mode": mode}
        for mode in ("max", "average", "global_average")
    ],
    "sum": [{"rows": 4, "columns": 9}],
    "cross_entropy": [{"rows": 4, "classes": 9}],
    **{name: [{"size": 100}] for name in ("mse", "relu", "gelu", "tanh", "add", "dropout")},
    "embedding": [{"vocabulary": 11, "width": 5, "tokens": 20}],
    "transpose": [{"rows": 4, "columns": 9}],
    "concat": [{"n": 2, "c": 3, "h": 4, "w": 5}],
    "flatten": [{"n": 2, "c": 3, "h": 4, "w": 5}],
    "all_reduce": [{"floats": 9}],
}
CASES = [(name, sizes) for name, variants in SIZES.items() for sizes in variants]
IDS = [" ".join([name, *(f"{size}={value}" for size, value in sizes.items())]) for name, sizes in CASES]
