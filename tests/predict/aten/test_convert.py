"""Operators of aten in the columns of the table of operators, with numbers that are counted by hand."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from hpcbench.predict.aten.convert import converted
from hpcbench.predict.tables import operators as table
from tests.predict.aten.calls import row, tensor, work

IMAGES = {"input": tensor(2, 6, 10, 12), "weight": tensor(8, 3, 3, 3), "bias": None, "groups": 2}
GEOMETRY = {"stride": [2, 2], "padding": [1, 1], "dilation": [1, 1], "output_padding": [0, 0], "transposed": False}


def sizes(found: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(found.get(name) for name in names)


@pytest.mark.parametrize(
    ("operator", "arguments", "expected"),
    [
        ("mm.default", {"self": tensor(4, 5), "mat2": tensor(5, 6)}, (1, 4, 6, 5)),
        ("addmm.default", {"self": tensor(6), "mat1": tensor(4, 5), "mat2": tensor(5, 6)}, (1, 4, 6, 5)),
        ("mv.default", {"self": tensor(4, 5), "vec": tensor(5)}, (1, 4, 1, 5)),
        ("dot.default", {"self": tensor(5), "tensor": tensor(5)}, (1, 1, 1, 5)),
        ("linear.default", {"input": tensor(2, 3, 5), "weight": tensor(7, 5), "bias": None}, (1, 6, 7, 5)),
        ("bmm.default", {"self": tensor(3, 4, 5), "mat2": tensor(3, 5, 6)}, (3, 4, 6, 5)),
        ("baddbmm.default", {"self": tensor(1), "batch1": tensor(3, 4, 5), "batch2": tensor(3, 5, 6)}, (3, 4, 6, 5)),
    ],
)
def test_products(operator: str, arguments: dict[str, Any], expected: tuple[int, ...]) -> None:
    (found,) = work(f"aten.{operator}", **arguments)
    batch, m, n, k = expected
    assert sizes(found, "batch", "m", "n", "k", "flops") == (*expected, 2 * batch * m * n * k)
    assert found["kind"] == (table.BATCHED_GEMM if "bmm" in operator else table.GEMM)
    assert found["bytes"] == 1000


def test_a_grouped_convolution_has_a_product_per_group() -> None:
    (found,) = work("aten.convolution.default", **IMAGES, **GEOMETRY)
    assert sizes(found, "kind", "function", "kernel", "stride") == (table.CONV, "conv2d", 3, 2)
    assert sizes(found, "batch", "m", "n", "k") == (2, 2 * 5 * 6, 4, 3 * 9)
    assert found["flops"] == 2 * (2 * 5 * 6) * 8 * 3 * 9  # of each output: 3 channels x 9 taps
    assert found["layout"] == "channels_first"


def test_images_with_the_channels_last() -> None:
    last = {**IMAGES, "input": tensor(2, 6, 10, 12, strides=(720, 1, 72, 6))}
    (found,) = work("aten.convolution.default", **last, **GEOMETRY)
    assert found["layout"] == "channels_last"


def test_a_backward_convolution_is_two_products_of_equal_flops() -> None:
    gradient = {"grad_output": tensor(2, 8, 5, 6), "output_mask": [True, True, False]}
    of_input, of_weight = work("aten.convolution_backward.default", **IMAGES, **GEOMETRY, **gradient)
    forward = work("aten.convolution.default", **IMAGES, **GEOMETRY)[0]["flops"]
    assert sizes(of_input, "kind", "batch", "m", "n") == (table.CONV_INPUT_GRADIENT, 2, 2 * 10 * 12, 3)
    assert sizes(of_weight, "kind", "batch", "m", "n", "k") == (table.CONV_WEIGHT_GRADIENT, 2, 4, 27, 60)
    assert of_input["flops"] == of_weight["flops"] == forward
    assert 2 * 2 * of_input["m"] * of_input["n"] * of_input["k"] == pytest.approx(forward)
    assert of_input["bytes"] == of_weight["bytes"] == 4 * (2 * 6 * 120 + 8 * 27 + 2 * 8 * 30)
    assert of_input["share"] == of_weight["share"] == 0.5


def test_the_first_convolution_needs_no_gradient_of_its_input() -> None:
    gradient = {"grad_output": tensor(2, 8, 5, 6), "output_mask": [False, True, True]}
    (found,) = work("aten.convolution_backward.default", **IMAGES, **GEOMETRY, **gradient)
    assert (found["kind"], found["share"]) == (table.CONV_WEIGHT_GRADIENT, 1)


def test_a_transposed_convolution_is_the_input_gradient_of_the_one_that_it_inverts() -> None:
    arguments = {"input": tensor(1, 8, 5, 5), "weight": tensor(8, 4, 2, 2), "bias": None, "groups": 1}
    geometry = {**GEOMETRY, "padding": [0, 0], "transposed": True}
    (found,) = work("aten.convolution.default", **arguments, **geometry)
    assert sizes(found, "kind", "m", "n") == (table.CONV_INPUT_GRADIENT, 10 * 10, 4)
    assert found["flops"] == 2 * 25 * 8 * 4 * 4  # each input pixel meets each tap


@pytest.mark.parametrize(("causal", "expected"), [(False, 4), (True, 2)])
def test_attention(causal: bool, expected: int) -> None:
    arguments = {"query": tensor(2, 8, 16, 4), "key": tensor(2, 2, 32, 4), "value": tensor(2, 2, 32, 4)}
    name = "aten._scaled_dot_product_flash_attention_for_cpu"
    (found,) = work(f"{name}.default", **arguments, is_causal=causal)
    shape = sizes(found, "kind", "batch", "heads", "kv_heads", "rows", "columns", "head_dim")
    assert shape == (table.ATTENTION, 2, 8, 2, 16, 32, 4)
    assert found["flops"] == expected * 2 * 8 * 16 * 32 * 4
    (backward,) = work(f"{name}_backward.default", **arguments, is_causal=causal)
    assert backward["flops"] == 2.5 * found["flops"]


def test_one_query_is_a_step_of_generation() -> None:
    arguments = {"query": tensor(2, 8, 1, 4), "key": tensor(2, 8, 32, 4), "value": tensor(2, 8, 32, 4)}
    (found,) = work("aten._scaled_dot_product_efficient_attention.default", **arguments)
    assert found["kind"] == table.ATTENTION_DECODE


def test_the_operators_inside_an_encoder_layer() -> None:
    found = work(
        "aten._transformer_encoder_layer_fwd.default",
        src=tensor(2, 3, 8),
        embed_dim=8,
        num_heads=2,
        use_gelu=True,
        ffn_weight_1=tensor(32, 8),
    )
    kinds = [table.GEMM, table.ATTENTION, table.GEMM, *[table.POINTWISE] * 2, *[table.LAYER_NORM] * 2]
    assert [each["kind"] for each in found] == [*kinds, table.GEMM, table.POINTWISE, table.GEMM]
    products = [sizes(each, "m", "n", "k") for each in found if each["kind"] == table.GEMM]
    assert products == [(6, 24, 8), (6, 8, 8), (6, 32, 8), (6, 8, 32)]
    assert sum(each["share"] for each in found) == pytest.approx(1)
    of_norm = next(each for each in found if each["kind"] == table.LAYER_NORM)
    of_product = next(each for each in found if each["kind"] == table.GEMM)
    assert of_norm["share"] / of_product["share"] == pytest.approx(of_norm["bytes"] / of_product["bytes"])


def test_the_time_of_a_large_encoder_layer_is_shared_by_flops_and_bytes() -> None:
    found = work(
        "aten._transformer_encoder_layer_fwd.default",
        src=tensor(8, 512, 1024),
        embed_dim=1024,
        num_heads=16,
        use_gelu=True,
        ffn_weight_1=tensor(4096, 1024),
    )
    of_norm = next(each for each in found if each["kind"] == table.LAYER_NORM)
    of_product = next(each for each in found if each["kind"] == table.GEMM)
    assert of_product["share"] / of_norm["share"] == pytest.approx(of_product["flops"] / 20 / of_norm["bytes"])


@pytest.mark.parametrize(
    ("operator", "arguments", "expected"),
    [
        ("relu.default", {"self": tensor(4, 6)}, ("relu", 4, 6, 1)),
        ("add_.Tensor", {"self": tensor(4, 6), "other": tensor(6)}, ("add", 4, 6, 2)),
        ("mul.Tensor", {"self": tensor(4, 6), "other": 2.0}, ("mul", 4, 6, 1)),
        ("threshold_backward.default", {"grad_output": tensor(4, 6), "self": tensor(4, 6)}, ("relu_backward", 4, 6, 2)),
        ("gelu_backward.default", {"grad_output": tensor(4, 6), "self": tensor(4, 6)}, ("gelu_backward", 4, 6, 2)),
        ("mul.Tensor", {"self": tensor(4, 1), "other": tensor(1, 6)}, ("mul", 4, 6, 2)),
    ],
)
def test_pointwise(operator: str, arguments: dict[str, Any], expected: tuple[Any, ...]) -> None:
    (found,) = work(f"aten.{operator}", **arguments)
    assert sizes(found, "function", "rows", "columns", "inputs") == expected
    assert (found["kind"], found["flops"]) == (table.POINTWISE, 24)


@pytest.mark.parametrize(
    ("operator", "arguments", "kind", "expected"),
    [
        ("_softmax.default", {"self": tensor(2, 3, 5), "dim": -1}, table.SOFTMAX, (6, 5)),
        ("_log_softmax_backward_data.default", {"output": tensor(2, 3), "dim": 1}, table.SOFTMAX, (2, 3)),
        ("native_layer_norm.default", {"input": tensor(2, 3, 5), "normalized_shape": [5]}, table.LAYER_NORM, (6, 5)),
        ("native_group_norm.default", {"input": tensor(2, 6, 5), "group": 3}, table.LAYER_NORM, (6, 10)),
        ("native_batch_norm.default", {"input": tensor(2, 3, 4, 5), "training": True}, table.BATCH_NORM, (3, 40)),
        ("sum.dim_IntList", {"self": tensor(2, 3, 5), "dim": [1]}, table.REDUCTION, (10, 3)),
        ("sum.default", {"self": tensor(2, 3, 5)}, table.REDUCTION, (1, 30)),
        ("cat.default", {"tensors": [tensor(2, 3), tensor(2, 5)]}, table.COPY, (2, 5)),
        ("zeros.default", {"size": [5, 50]}, table.COPY, (1, 250)),
        ("embedding.default", {"weight": tensor(50, 8), "indices": tensor(2, 3)}, table.GATHER, (50, 8)),
        ("avg_pool2d.default", {"self": tensor(2, 3, 8, 8), "kernel_size": [2, 2]}, table.POOLING, (48, 8)),
    ],
)
def test_operators_that_move_rows(
    operator: str, arguments: dict[str, Any], kind: str, expected: tuple[int, int]
) -> None:
    (found,) = work(f"aten.{operator}", **arguments)
    assert (found["kind"], *sizes(found, "rows", "columns")) == (kind, *expected)


def test_batch_norm_computes_no_statistics_in_evaluation() -> None:
    (found,) = work("aten.native_batch_norm.default", input=tensor(2, 3, 4, 5), training=False)
    assert found["function"] == "batch_norm_evaluation"


def test_an_lstm_of_cudnn_is_a_row_per_layer_and_direction() -> None:
    arguments = {"input": tensor(7, 2, 5), "mode": 2, "hidden_size": 3, "num_layers": 2, "bidirectional": True}
    found = work("aten._cudnn_rnn.default", **arguments, batch_first=False)
    assert [sizes(each, "rows", "m", "n", "k") for each in found] == [(7, 2, 12, 8)] * 2 + [(7, 2, 12, 9)] * 2
    assert found[0]["flops"] == 2 * 7 * 2 * 12 * 8
    assert sum(each["bytes"] for each in found) == 1000


def test_the_update_of_a_list_of_weights() -> None:
    weights = [tensor(4, 5), tensor(10)]
    (found,) = work("aten._foreach_addcmul_.Scalar", self=weights, tensor1=weights, tensor2=weights, value=1.0)
    assert sizes(found, "kind", "function", "rows", "columns", "inputs") == (table.OPTIMIZER, "addcmul", 2, 15, 3)
    (long,) = work("aten._fused_adamw_.default", self={"tensors": 600, "elements": 1200, "dtypes": ["float32"]})
    assert sizes(long, "function", "rows", "columns") == ("adamw", 600, 2)


def test_views_and_allocations_are_left_out() -> None:
    rows = [row("aten.view.default", kind="view"), row("aten.empty.memory_format", kind="allocation")]
    rows += [row("aten.unsafe_split.Tensor", self=tensor(4, 4)), row("aten.relu.default", self=tensor(4, 4))]
    found = converted(pd.DataFrame(rows))
    assert (found["origin"].tolist(), found["function"].tolist()) == ([3], ["relu"])


@pytest.mark.parametrize(
    "unknown",
    [
        row("torchvision.deform_conv2d.default", input=tensor(2, 3)),
        row("aten.fft_fft.default", self=tensor(4)),
        row("aten.mm.default", self=tensor(4, 5)),  # without its second matrix
        row("aten.add.Tensor", self=tensor(4), other=tensor(5)),  # shapes that do not fit
        {**row("aten.relu.default"), "arguments": "[]"},
        {**row("aten.relu.default"), "arguments": "no JSON"},
        {**row("aten.relu.default"), "arguments": '{"self": ' + "[" * 100_000},
        row("aten._foreach_add_.List", self=[1, 2]),  # no tensors
        row("aten.mkldnn_rnn_layer.default", input=tensor(2, 3, 4), hidden_size=math.inf, mode=2),
        {
            **row("onnx.Softmax", inputs=[tensor(4)], outputs=[tensor(4)]),
            "arguments": '{"inputs": [], "attributes": []}',
        },
    ],
    ids=lambda each: each["operator"] + each["arguments"][:10],
)
def test_other_operators_are_unknown_by_their_whole_name(unknown: dict[str, Any]) -> None:
    found = converted(pd.DataFrame([unknown])).iloc[0]
    assert (found["kind"], found["function"]) == (table.UNKNOWN, unknown["operator"])
    assert found["bytes"] == 1000
    assert math.isnan(found["flops"])
