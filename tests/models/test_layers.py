"""Shapes, weights and operations of each layer, against small examples reckoned by hand."""

from __future__ import annotations

import math

import pytest

from hpcbench.models.blocks import Branches, EncoderLayer, Residual, bodies, output_shape, parameter_count, total_flops
from hpcbench.models.layers import (
    Attention,
    AvgPool,
    BatchNorm,
    Conv,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    Gelu,
    GlobalAvgPool,
    Layer,
    LayerNorm,
    Lstm,
    MaxPool,
    Relu,
    Shape,
    TakeStep,
    Tanh,
)

ONE_BY_ONE = Conv(4, (1, 1))
# layer, shape of an item, shape of the result, trainable numbers, operations
EXAMPLES: list[tuple[Layer, Shape, Shape, int, int]] = [
    (Dense(5), (3,), (5,), 3 * 5 + 5, 2 * 3 * 5),
    (Dense(5), (7, 3), (7, 5), 3 * 5 + 5, 7 * 2 * 3 * 5),  # the same weights at each of seven steps
    (Conv(4, (3, 3)), (2, 8, 6), (4, 6, 4), 4 * 2 * 9 + 4, 2 * (2 * 9) * (4 * 6 * 4)),
    (Conv(4, (3, 3), 1, (1, 1)), (2, 8, 6), (4, 8, 6), 4 * 2 * 9 + 4, 2 * (2 * 9) * (4 * 8 * 6)),
    (Conv(4, (3, 3), 2, (1, 1), bias=False), (2, 8, 7), (4, 4, 4), 4 * 2 * 9, 2 * (2 * 9) * (4 * 4 * 4)),
    (Conv(4, (1, 7), 1, (0, 3), bias=False), (2, 8, 6), (4, 8, 6), 4 * 2 * 7, 2 * (2 * 7) * (4 * 8 * 6)),
    (BatchNorm(), (5, 8, 6), (5, 8, 6), 2 * 5, 0),
    (LayerNorm(), (9, 5), (9, 5), 2 * 5, 0),
    (Relu(), (3, 4), (3, 4), 0, 0),
    (Gelu(), (3, 4), (3, 4), 0, 0),
    (Tanh(), (3, 4), (3, 4), 0, 0),
    (Dropout(0.5), (3, 4), (3, 4), 0, 0),
    (MaxPool(3, 2), (5, 8, 7), (5, 3, 3), 0, 0),
    (MaxPool(3, 2, 1), (5, 8, 7), (5, 4, 4), 0, 0),
    (AvgPool(3, 1, 1), (5, 8, 7), (5, 8, 7), 0, 0),
    (GlobalAvgPool(), (5, 8, 7), (5,), 0, 0),
    (Flatten(), (5, 8, 7), (280,), 0, 0),
    (TakeStep(-1), (9, 5), (5,), 0, 0),
    (Embedding(50, 20, 8), (12,), (12, 8), (50 + 20 + 2) * 8, 0),
    # Four gates for each direction and layer, each of input, state and one bias.
    (Lstm(5, 1, False), (11, 3), (11, 5), 4 * 5 * (3 + 5 + 1), 11 * 2 * 4 * 5 * (3 + 5)),
    (Lstm(5, 1, True), (11, 3), (11, 10), 2 * 4 * 5 * (3 + 5 + 1), 2 * 11 * 2 * 4 * 5 * (3 + 5)),
    (
        Lstm(5, 2, True),
        (11, 3),
        (11, 10),
        2 * 4 * 5 * (3 + 5 + 1) + 2 * 4 * 5 * (10 + 5 + 1),
        2 * 11 * 2 * 4 * 5 * ((3 + 5) + (10 + 5)),
    ),
    # Four products of 6 x 6 at each of five steps; then the scores of 5 x 5, and the sums that they weigh.
    (Attention(2, 0.1), (5, 6), (5, 6), 4 * (6 * 6 + 6), 4 * 2 * 5 * 6 * 6 + 2 * (2 * 5 * 5 * 6)),
    (
        EncoderLayer(6, 2, 8, 0.1),
        (5, 6),
        (5, 6),
        4 * (6 * 6 + 6) + (6 * 8 + 8) + (8 * 6 + 6) + 2 * (2 * 6),
        4 * 2 * 5 * 6 * 6 + 2 * (2 * 5 * 5 * 6) + 5 * 2 * (6 * 8 + 8 * 6),
    ),
    (Residual((ONE_BY_ONE,)), (4, 3, 3), (4, 3, 3), 4 * 4 + 4, 2 * 4 * (4 * 9)),
    (Residual((ONE_BY_ONE,), (ONE_BY_ONE,)), (2, 3, 3), (4, 3, 3), 2 * (2 * 4 + 4), 2 * (2 * 2 * (4 * 9))),
    (
        Branches(((ONE_BY_ONE,), (MaxPool(3, 1, 1), Conv(3, (1, 1))))),
        (2, 5, 5),
        (7, 5, 5),
        (2 * 4 + 4) + (2 * 3 + 3),
        2 * 2 * (4 * 25) + 2 * 2 * (3 * 25),
    ),
]
NAMES = [f"{type(layer).__name__}-{shape}" for layer, shape, *_ in EXAMPLES]


@pytest.mark.parametrize(("layer", "shape", "result", "parameters", "flops"), EXAMPLES, ids=NAMES)
def test_a_layer_alone(layer: Layer, shape: Shape, result: Shape, parameters: int, flops: int) -> None:
    assert layer.output(shape) == result
    assert parameter_count([layer], shape) == parameters
    assert layer.flops(shape) == flops


def test_every_kind_of_layer_has_an_example() -> None:
    assert {type(layer) for layer, *_ in EXAMPLES} == set(Layer.__subclasses__())


def test_layers_follow_each_other() -> None:
    chain = [Conv(4, (3, 3)), Relu(), MaxPool(2, 2), Flatten(), Dense(10)]
    assert output_shape(chain, (2, 8, 8)) == (10,)
    assert parameter_count(chain, (2, 8, 8)) == (4 * 2 * 9 + 4) + (4 * 3 * 3 * 10 + 10)
    assert total_flops(chain, (2, 8, 8)) == 2 * (2 * 9) * (4 * 6 * 6) + 2 * (4 * 3 * 3) * 10


def test_no_layers_do_nothing() -> None:
    assert output_shape([], (3, 4)) == (3, 4)
    assert (parameter_count([], (3, 4)), total_flops([], (3, 4))) == (0, 0)


@pytest.mark.parametrize("layer", [Conv(4, (3, 3)), MaxPool(3, 2), AvgPool(3, 2)])
@pytest.mark.parametrize("shape", [(2, 2, 8), (2, 8, 2)])
def test_an_image_smaller_than_the_window_is_refused(layer: Layer, shape: Shape) -> None:
    assert layer.output((2, 3, 3))[1:] == (1, 1)
    with pytest.raises(ValueError, match="too small"):
        layer.output(shape)


def test_a_sequence_longer_than_its_positions_is_refused() -> None:
    assert Embedding(50, 20, 8).output((20,)) == (20, 8)
    with pytest.raises(ValueError, match="more than positions"):
        Embedding(50, 20, 8).output((21,))


def test_only_blocks_have_layers_inside() -> None:
    assert bodies(Relu()) == ()
    assert bodies(Residual((ONE_BY_ONE,))) == ((ONE_BY_ONE,), ())
    assert bodies(Branches(((ONE_BY_ONE,), (Relu(),)))) == ((ONE_BY_ONE,), (Relu(),))


def test_an_encoder_layer_is_what_its_parts_say() -> None:
    """Vaswani et al. (2017), "Attention is all you need", section 3.1, the norms after the sums."""
    layer = EncoderLayer(6, 2, 8, 0.1)
    assert bodies(layer) == (layer.parts,)
    names = [type(part).__name__ for part in layer.parts]
    assert names == ["Residual", "LayerNorm", "Residual", "LayerNorm"]
    attention, feed_forward = (layer.parts[place] for place in (0, 2))
    assert bodies(attention)[0] == (Attention(2, 0.1), Dropout(0.1))
    kinds = [type(part).__name__ for part in bodies(feed_forward)[0]]
    assert kinds == ["Dense", "Gelu", "Dropout", "Dense", "Dropout"]


@pytest.mark.parametrize(
    ("layer", "shape", "inputs"),
    [(Dense(500), (40,), 40), (Conv(100, (3, 3)), (8, 9, 9), 8 * 9)],
    ids=["dense", "conv"],
)
def test_first_weights_keep_the_variance_through_a_relu(layer: Layer, shape: Shape, inputs: int) -> None:
    """He et al. (2015), equation 10: the variance of a weight is 2 / inputs; a uniform one's is spread^2 / 3."""
    kernel = layer.weights(shape)["kernel"]
    assert math.isclose(kernel.spread**2 / 3, 2 / inputs)
    assert kernel.center == 0


def test_without_a_relu_the_variance_is_half_of_that() -> None:
    assert math.isclose(Dense(5, gain=1.0).weights((40,))["kernel"].spread ** 2 / 3, 1 / 40)


@pytest.mark.parametrize("layer", [BatchNorm(), LayerNorm()])
def test_a_norm_starts_as_the_identity(layer: Layer) -> None:
    scale, offset = (layer.weights((4, 4))[name] for name in ("scale", "offset"))
    assert (scale.center, scale.spread, offset.center, offset.spread) == (1.0, 0.0, 0.0, 0.0)


def test_the_kernel_of_each_layer_of_an_lstm_takes_what_comes_in() -> None:
    weights = Lstm(5, 2, True).weights((11, 3))
    shapes = {name: weight.shape for name, weight in weights.items()}
    assert shapes["input_kernel_0_0"] == shapes["input_kernel_0_1"] == (20, 3)
    assert shapes["input_kernel_1_0"] == shapes["input_kernel_1_1"] == (20, 10)
    assert {shapes[f"hidden_kernel_{depth}_{way}"] for depth in (0, 1) for way in (0, 1)} == {(20, 5)}
    assert {shapes[f"bias_{depth}_{way}"] for depth in (0, 1) for way in (0, 1)} == {(20,)}
    assert len(shapes) == 12
