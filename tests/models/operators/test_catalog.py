"""The operators by name: their sizes, and what is wrong with sizes."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.models import blocks, layers
from hpcbench.models.layers import Layer
from hpcbench.models.operators.catalog import OPERATORS, description_of, operator_of, sizes_of

# The operators that a layer of the shipped models consists of, without the additions of biases.
OF_LAYERS: dict[type[Layer], tuple[str, ...]] = {
    layers.Dense: ("linear",),
    layers.Conv: ("conv2d",),
    layers.BatchNorm: ("batch_norm",),
    layers.LayerNorm: ("layer_norm",),
    layers.Relu: ("relu",),
    layers.Gelu: ("gelu",),
    layers.Tanh: ("tanh",),
    layers.Dropout: ("dropout",),
    **dict.fromkeys((layers.MaxPool, layers.AvgPool, layers.GlobalAvgPool), ("pooling",)),
    layers.Flatten: ("flatten",),
    layers.Lstm: ("lstm",),
    layers.Embedding: ("embedding", "add"),
    layers.Attention: ("linear", "attention", "transpose", "dropout"),
    layers.TakeStep: (),  # a view, which moves no data
    blocks.Residual: ("add",),
    blocks.Branches: ("concat",),
    blocks.EncoderLayer: (),  # consists of other layers
}


def test_there_are_more_operators_than_in_deep500() -> None:
    assert len(OPERATORS) == 27
    assert {"conv2d", "gemm", "lstm_cell", "layer_norm", "cross_entropy", "embedding"} <= set(OPERATORS)


def kinds_of(base: type[Any]) -> set[type[Any]]:
    """Return the kinds of layers of hpcbench, without those of tests."""
    own = {kind for kind in base.__subclasses__() if kind.__module__.startswith("hpcbench.models.")}
    return own.union(*map(kinds_of, own))


def test_each_kind_of_layer_of_the_shipped_models_has_its_operators() -> None:
    assert kinds_of(Layer) == set(OF_LAYERS)
    assert {operator for operators in OF_LAYERS.values() for operator in operators} <= set(OPERATORS)


@pytest.mark.parametrize("name", OPERATORS)
def test_each_operator_has_defaults_that_fit_together_and_a_description(name: str) -> None:
    operator = operator_of(name, {})
    assert {each: getattr(operator, each) for each in sizes_of(name)} == sizes_of(name)
    assert all(array.size > 0 for array in [*operator.arrays().values(), operator.output()])
    assert description_of(name).endswith(".")
    assert "\n" not in description_of(name)


def test_sizes_that_are_not_given_have_their_defaults() -> None:
    operator = operator_of("gemm", {"m": 3, "b_trans": True})
    assert operator == OPERATORS["gemm"](m=3, b_trans=True)
    assert sizes_of("gemm") == {"m": 1024, "n": 1024, "k": 1024, "a_trans": False, "b_trans": False}


@pytest.mark.parametrize(
    ("name", "sizes", "message"),
    [
        ("gemm", {"q": 1}, "the operator gemm has no size 'q'; it has: m, n, k, a_trans, b_trans"),
        ("gemm", {"m": 0}, "the size 'm' of gemm must be an integer from 1 to 1000000000, not 0"),
        ("gemm", {"m": 2.0}, "the size 'm' of gemm must be an integer from 1 to 1000000000, not 2.0"),
        ("gemm", {"m": True}, "the size 'm' of gemm must be an integer from 1 to 1000000000, not True"),
        ("gemm", {"m": "7"}, "the size 'm' of gemm must be an integer from 1 to 1000000000, not '7'"),
        ("gemm", {"a_trans": 1}, "the size 'a_trans' of gemm must be true or false, not 1"),
        ("conv2d", {"pad_h": -1}, "the size 'pad_h' of conv2d must be an integer from 0 to 1000000000, not -1"),
        ("dropout", {"rate": 1.0}, "the size 'rate' of dropout must be a number from 0 to below 1, not 1.0"),
        ("dropout", {"rate": False}, "the size 'rate' of dropout must be a number from 0 to below 1, not False"),
        (
            "pooling",
            {"mode": "min"},
            "the size 'mode' of pooling must be one of: max, average, global_average, not 'min'",
        ),
        ("conv2d", {"h": 2, "pad_h": 0}, "conv2d: the image of 2 x 56 is smaller than the filter"),
        ("pooling", {"h": 1}, "pooling: the image of 1 x 56 is smaller than the kernel, 2"),
        ("pooling", {"pad": 2}, "pooling: pad is 2, more than half of the kernel, 2"),
        ("pooling", {"kernel": 17}, "pooling: the kernel is 17; mode: max has kernels up to 16"),
    ],
)
def test_sizes_that_are_wrong_are_named(name: str, sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="^" + message):
        operator_of(name, sizes)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("pooling", {"kernel": 17, "mode": "average"}),
        ("pooling", {"kernel": 99, "mode": "global_average"}),
        ("pooling", {"kernel": 16}),
        ("dropout", {"rate": 0}),
        ("conv2d", {"h": 1, "filter_h": 3, "pad_h": 1}),
    ],
)
def test_sizes_at_the_limits_are_right(name: str, sizes: dict[str, Any]) -> None:
    assert min(operator_of(name, sizes).output().shape) >= 1
