"""Operators of ONNX graphs in the columns of the table of operators, with numbers that are counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.predict.tables import operators as table
from tests.predict.aten.calls import tensor, work


def node(operator: str, inputs: list[Any], *outputs: Any, **attributes: Any) -> list[dict[str, Any]]:
    return work(operator, inputs=inputs, outputs=list(outputs), attributes=attributes)


def sizes(found: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(found.get(name) for name in names)


@pytest.mark.parametrize(
    ("operator", "inputs", "output", "attributes", "expected"),
    [
        ("onnx.Gemm", [tensor(4, 5), tensor(6, 5)], tensor(4, 6), {"transB": 1}, ("gemm", 1, 4, 6, 5)),
        ("onnx.Gemm", [tensor(5, 4), tensor(5, 6)], tensor(4, 6), {"transA": 1}, ("gemm", 1, 4, 6, 5)),
        ("onnx.MatMul", [tensor(2, 4, 5), tensor(5, 6)], tensor(2, 4, 6), {}, ("gemm", 1, 8, 6, 5)),
        ("onnx.MatMul", [tensor(2, 4, 5), tensor(2, 5, 6)], tensor(2, 4, 6), {}, ("batched_gemm", 2, 4, 6, 5)),
        ("onnx.MatMul", [tensor(4, 5), tensor(5)], tensor(4), {}, ("gemm", 1, 4, 1, 5)),
        (
            "com_microsoft.FusedConv",
            [tensor(2, 6, 10, 10), tensor(8, 3, 3, 3)],
            tensor(2, 8, 5, 5),
            {"group": 2, "strides": [2, 2]},
            ("conv", 2, 50, 4, 27),
        ),
        (
            "com_microsoft.NhwcConv",
            [tensor(2, 10, 10, 6), tensor(8, 3, 3, 3)],
            tensor(2, 5, 5, 8),
            {"group": 2, "strides": [2, 2], "kernel_shape": [3, 3]},
            ("conv", 2, 50, 4, 27),
        ),
        (
            "onnx.QLinearMatMul",
            [tensor(4, 5), tensor(), tensor(), tensor(5, 6)],
            tensor(4, 6),
            {},
            ("gemm", 1, 4, 6, 5),
        ),
        ("com_microsoft.MatMulNBits", [tensor(2, 4, 64)], tensor(2, 4, 6), {"N": 6, "K": 64}, ("gemm", 1, 8, 6, 64)),
        (
            "onnx.Einsum",
            [tensor(2, 7, 3, 5), tensor(2, 9, 3, 5)],
            tensor(2, 3, 7, 9),
            {"equation": "bqhd, bkhd -> bhqk"},
            ("batched_gemm", 6, 7, 9, 5),
        ),
        ("onnx.Einsum", [tensor(2, 4, 5), tensor(5, 6)], None, {"equation": "btc,cn->btn"}, ("gemm", 1, 8, 6, 5)),
    ],
)
def test_products(operator: str, inputs: Any, output: Any, attributes: Any, expected: tuple[Any, ...]) -> None:
    (found,) = node(operator, inputs, output, **attributes)
    assert sizes(found, "kind", "batch", "m", "n", "k") == expected
    _, batch, m, n, k = expected
    assert found["flops"] == 2 * batch * m * n * k


def test_a_transposed_convolution() -> None:
    inputs = [tensor(1, 8, 5, 5), tensor(8, 4, 2, 2)]
    (found,) = node("onnx.ConvTranspose", inputs, tensor(1, 4, 10, 10), strides=[2, 2])
    assert sizes(found, "kind", "m", "n", "kernel", "stride") == (table.CONV_INPUT_GRADIENT, 100, 4, 2, 2)
    assert found["flops"] == 2 * 25 * 8 * 4 * 4


def test_a_bidirectional_lstm_is_two_rows() -> None:
    found = node("onnx.LSTM", [tensor(7, 2, 5), tensor(2, 12, 5), tensor(2, 12, 3)], tensor(7, 2, 2, 3))
    assert [sizes(each, "kind", "function", "rows", "m", "n", "k") for each in found] == [
        ("rnn", "lstm", 7, 2, 12, 8)
    ] * 2


@pytest.mark.parametrize(
    ("operator", "inputs", "output", "attributes", "expected"),
    [
        ("onnx.Relu", [tensor(4, 6)], tensor(4, 6), {}, ("pointwise", "relu", 4, 6, 1)),
        ("onnx.Add", [tensor(4, 6), tensor(6)], tensor(4, 6), {}, ("pointwise", "add", 4, 6, 2)),
        ("onnx.Softmax", [tensor(2, 3, 5)], tensor(2, 3, 5), {}, ("softmax", "softmax", 6, 5, 1)),
        (
            "onnx.LayerNormalization",
            [tensor(2, 3, 5)],
            tensor(2, 3, 5),
            {"axis": 1},
            ("layer_norm", "layer_norm", 2, 15, 1),
        ),
        (
            "onnx.BatchNormalization",
            [tensor(2, 3, 4, 5)],
            tensor(2, 3, 4, 5),
            {},
            ("batch_norm", "batch_norm_evaluation", 3, 40, 1),
        ),
        ("onnx.ReduceMean", [tensor(2, 3, 5)], tensor(2, 1, 5), {}, ("reduction", "reducemean", 10, 3, 1)),
        (
            "onnx.GlobalAveragePool",
            [tensor(2, 3, 4, 4)],
            tensor(2, 3, 1, 1),
            {},
            ("pooling", "globalaveragepool", 24, 4, 1),
        ),
        ("onnx.Tan", [tensor(4, 6)], tensor(4, 6), {}, ("pointwise", "tan", 4, 6, 1)),
        ("onnx.BitShift", [tensor(4, 6), tensor(4, 6)], tensor(4, 6), {}, ("pointwise", "bitshift", 4, 6, 2)),
        ("onnx.LRN", [tensor(2, 3, 4, 4)], tensor(2, 3, 4, 4), {"size": 5}, ("pointwise", "lrn", 24, 4, 1)),
        ("onnx.Hardmax", [tensor(2, 3, 5)], tensor(2, 3, 5), {}, ("softmax", "hardmax", 6, 5, 1)),
        (
            "onnx.GroupNormalization",
            [tensor(2, 32, 4, 4)],
            tensor(2, 32, 4, 4),
            {"num_groups": 8},
            ("layer_norm", "groupnormalization", 16, 64, 1),
        ),
        (
            "com_microsoft.GroupNorm",
            [tensor(2, 4, 4, 32)],
            tensor(2, 4, 4, 32),
            {"groups": 8},
            ("layer_norm", "groupnorm", 16, 64, 1),
        ),
        ("onnx.Transpose", [tensor(4, 6)], tensor(6, 4), {}, ("copy", "transpose", 6, 4, 1)),
        ("onnx.Gather", [tensor(50, 8), tensor(3)], tensor(3, 8), {}, ("gather", "index_select", 50, 8, 1)),
    ],
)
def test_rows(operator: str, inputs: Any, output: Any, attributes: Any, expected: tuple[Any, ...]) -> None:
    (found,) = node(operator, inputs, output, **attributes)
    assert sizes(found, "kind", "function", "rows", "columns", "inputs") == expected


@pytest.mark.parametrize(
    ("operator", "inputs"),
    [
        ("my_domain.Whirl", [tensor(4, 6)]),
        ("onnx.Loop", [tensor(4, 6)]),
        ("onnx.MatMul", [tensor(4, 6), {}]),
        ("onnx.Einsum", [tensor(4, 6), tensor(6, 2), tensor(2, 3)]),
        ("com_microsoft.MultiHeadAttention", [tensor(2, 4, 6), {}, {}]),
    ],
)
def test_custom_operators_and_unknown_shapes(operator: str, inputs: Any) -> None:
    (found,) = node(operator, inputs, tensor(4, 6))
    assert sizes(found, "kind", "function", "bytes") == (table.UNKNOWN, operator, 1000)
