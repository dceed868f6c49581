"""Small graphs for the tests of ONNX Runtime, written as ONNX files in the environment that has the package onnx."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 23, 11
MICROSOFT = "com.microsoft"


def weight(name: str, *shape: int, dtype: str = "float32", seed: int = 1) -> Any:
    values = numpy.random.default_rng(seed).standard_normal(shape) / max(shape[-1], 1) ** 0.5
    return numpy_helper.from_array(values.astype(dtype), name)


def value(name: str, *shape: Any, dtype: int = TensorProto.FLOAT) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def node(operator: str, inputs: str, output: str = "y", domain: str = "", **attributes: Any) -> Any:
    """Return a node; `-` is an input or an output that is left out."""
    read, written = (["" if name == "-" else name for name in names.split()] for names in (inputs, output))
    return helper.make_node(operator, read, written, domain=domain, **attributes)


def model(nodes: list[Any], inputs: list[Any], weights: Any = (), opset: int = OPSET, outputs: str = "y") -> Any:
    found = [helper.make_empty_tensor_value_info(name) for name in outputs.split()]
    graph = helper.make_graph(nodes, "net", inputs, found, list(weights))
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def mlp(*, width: int = 5, seed: int = 1, opset: int = OPSET, batch: Any = "batch", dtype: str = "float32") -> Any:
    """Return x (batch, 3) -> `width` -> ReLU -> 2."""
    weights = [weight("k1", width, 3, seed=seed, dtype=dtype), weight("b1", width, dtype=dtype)]
    weights.append(weight("k2", width, 2, dtype=dtype))
    nodes = [node("Gemm", "x k1 b1", "a", transB=1), node("Relu", "a", "b"), node("MatMul", "b k2")]
    return model(
        nodes, [value("x", batch, 3, dtype=helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype)))], weights, opset
    )


def renamed() -> Any:
    """Return the mlp with other weights and other names."""
    nodes = [node("Gemm", "x w bias", "1", transB=1), node("Relu", "1", "2"), node("MatMul", "2 w2", "z")]
    weights = [weight("w", 5, 3, seed=7), weight("bias", 5, seed=8), weight("w2", 5, 2, seed=9)]
    return model(nodes, [value("x", "n", 3)], weights, outputs="z")


def tokens() -> Any:
    """Return ids and mask (batch, length) int64 -> (batch, length, 4), with the mask in the product."""
    nodes = [
        node("Gather", "table ids", "vectors"),
        node("Cast", "mask", "numbers", to=TensorProto.FLOAT),
        node("Unsqueeze", "numbers last", "column"),
        node("Mul", "vectors column", "masked"),
        node("MatMul", "masked kernel"),
    ]
    inputs = [value(name, "batch", "length", dtype=TensorProto.INT64) for name in ("ids", "mask")]
    last = numpy_helper.from_array(numpy.array([-1], "int64"), "last")
    return model(nodes, inputs, [weight("table", 10, 6), weight("kernel", 6, 4), last])


def _attention(sequence: Any) -> dict[str, Any]:
    return {
        "attention": model([node("Attention", "x x x", q_num_heads=2, kv_num_heads=2)], [sequence]),
        "multihead": model(
            [node("MultiHeadAttention", "x x x - mask", domain=MICROSOFT, num_heads=2)],
            [sequence, value("mask", "n", 6, dtype=TensorProto.INT32)],
        ),
        "past": model(
            [node("Attention", "x x x - past past", "y keys values", q_num_heads=2, kv_num_heads=2)],
            [sequence, value("past", "n", 2, 5, 4)],
        ),
        "projected": model(
            [node("Attention", "x k b", domain=MICROSOFT, num_heads=2)],
            [sequence],
            [weight("k", 8, 24), weight("b", 24)],
        ),
    }


def counted() -> dict[str, Any]:
    """Return a graph of one operator for each formula of FLOPs, with a batch of any size."""
    image, sequence = value("x", "n", 4, 8, 8), value("x", "n", 6, 8)
    branch = helper.make_graph(
        [node("MatMul", "x k", "inner")], "branch", [], [helper.make_empty_tensor_value_info("inner")]
    )
    yes = numpy_helper.from_array(numpy.array(True), "yes")
    scales = [numpy_helper.from_array(numpy.array(0.1, "float32"), name) for name in ("s1", "s2", "s3")]
    zeros = [numpy_helper.from_array(numpy.array(0, "uint8"), name) for name in ("z1", "z2", "z3")]
    whole = numpy_helper.from_array(numpy.ones((3, 4, 3, 3), "uint8"), "k")
    return {
        "conv": model(
            [node("Conv", "x k b", strides=[2, 2], pads=[1] * 4)], [image], [weight("k", 6, 4, 3, 3), weight("b", 6)]
        ),
        "grouped": model([node("Conv", "x k", group=4)], [image], [weight("k", 8, 1, 3, 3)]),
        "transposed": model([node("ConvTranspose", "x k", strides=[2, 2])], [image], [weight("k", 4, 5, 3, 3)]),
        "quantized": model(
            [node("QuantizeLinear", "x s1 z1", "q"), node("QLinearConv", "q s1 z1 k s2 z2 s3 z3")],
            [image],
            [*scales, *zeros, whole],
        ),
        "gemm": model([node("Gemm", "x k b", transB=1)], [value("x", "n", 7)], [weight("k", 5, 7), weight("b", 5)]),
        "matmul": model([node("MatMul", "x k")], [sequence], [weight("k", 8, 3)]),
        "batched": model([node("Transpose", "x", "t", perm=[0, 2, 1]), node("MatMul", "x t")], [sequence]),
        "einsum": model([node("Einsum", "x k", equation="ntw,wc->ntc")], [sequence], [weight("k", 8, 3)]),
        "lstm": model(
            [
                node("Transpose", "x", "t", perm=[1, 0, 2]),
                node("LSTM", "t w r", hidden_size=5, direction="bidirectional"),
            ],
            [sequence],
            [weight("w", 2, 20, 8), weight("r", 2, 20, 5)],
        ),
        "gru": model(
            [node("Transpose", "x", "t", perm=[1, 0, 2]), node("GRU", "t w r", hidden_size=5)],
            [sequence],
            [weight("w", 1, 15, 8), weight("r", 1, 15, 5)],
        ),
        **_attention(sequence),
        "fused": model([node("FusedMatMul", "x x", domain=MICROSOFT, transA=1)], [sequence]),
        "inside": model(
            [node("If", "yes", then_branch=branch, else_branch=branch)], [sequence], [yes, weight("k", 8, 3)]
        ),
        "after": model(  # ONNX does not infer the shape of the first operator
            [node("Gelu", "x", "a", domain=MICROSOFT), node("MatMul", "a k")], [sequence], [weight("k", 8, 300)]
        ),
    }


def graphs() -> dict[str, Any]:
    """Return all graphs by name."""
    return {
        "mlp": mlp(),
        "wider": mlp(width=6),
        "reseeded": mlp(seed=5),
        "renamed": renamed(),
        "fixed": mlp(batch=4),
        "half": mlp(dtype="float16"),
        "double": mlp(dtype="float64"),
        "future": mlp(opset=999),
        "unknown": model([node("Frobnicate", "x")], [value("x", "n", 3)]),
        "tokens": tokens(),
        "closed": model([node("Relu", "k")], [], [weight("k", 3)]),
        "scalar": model([node("Relu", "x")], [value("x")]),
        "mismatch": model([node("MatMul", "x k")], [value("x", "n", "width")], [weight("k", 3, 2)]),
        "huge": model(
            [node("Expand", "x size")],
            [value("x", "n", 1)],
            [numpy_helper.from_array(numpy.array([1, 4 * 10**9], "int64"), "size")],
        ),
        **counted(),
    }


def write(folder: Path) -> None:
    """Write all graphs, one of them with its weights in another file, and files that are not ONNX."""
    for name, graph in graphs().items():
        onnx.save(graph, folder / f"{name}.onnx")
    outside = {"save_as_external_data": True, "location": "large.bin", "size_threshold": 0}
    onnx.save(mlp(width=2000), folder / "large.onnx")
    onnx.save(mlp(width=2000), folder / "external.onnx", **outside)
    (folder / "text.onnx").write_text("version https://git-lfs.github.com/spec/v1\n")
    (folder / "empty.onnx").write_bytes(b"")
    onnx.save(mlp(width=2000), folder / "lost.onnx", **{**outside, "location": "lost.bin"})
    (folder / "lost.bin").unlink()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
