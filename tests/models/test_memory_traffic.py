"""Numbers that each layer moves, against small examples reckoned by hand."""

from __future__ import annotations

import pytest

from hpcbench.models.blocks import Branches, EncoderLayer, Residual
from hpcbench.models.layers import (
    Attention,
    BatchNorm,
    Conv,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    Layer,
    Lstm,
    MaxPool,
    Relu,
    Shape,
    TakeStep,
)
from hpcbench.models.memory_traffic import moved, total_moved, total_weights_read

ONE_BY_ONE = Conv(4, (1, 1))
ATTENTION = 3 * (30 + 30) + (2 * 30 + 50) + 2 * 50 + (50 + 30 + 30) + (30 + 30)  # of 5 steps of 6, and 2 heads of 5 x 5
FEED_FORWARD = (30 + 40) + 2 * 40 + (40 + 30)  # 5 steps: from 6 to 8, GELU, back to 6
# layer, shape of an item, numbers moved in inference and in training, weights read for three items
EXAMPLES: list[tuple[Layer, Shape, int, int, int]] = [
    (Dense(5), (3,), 3 + 5, 3 + 5, 3 * 5 + 5),
    (Dense(5), (7, 3), 7 * (3 + 5), 7 * (3 + 5), 3 * 5 + 5),
    (Conv(4, (3, 3)), (2, 8, 6), 2 * 48 + 4 * 24, 2 * 48 + 4 * 24, 4 * 2 * 9 + 4),
    (BatchNorm(), (5, 8, 6), 2 * 240, 2 * 240, 2 * 5),
    (Relu(), (3, 4), 2 * 12, 2 * 12, 0),
    (MaxPool(2, 2), (5, 8, 6), 5 * 48 + 5 * 12, 5 * 48 + 5 * 12, 0),
    (Dropout(0.5), (3, 4), 0, 2 * 12, 0),
    (Flatten(), (5, 8, 7), 0, 0, 0),
    (TakeStep(-1), (9, 5), 0, 0, 0),
    # Two layers, both directions: from 3 to 10, and from 10 to 10.
    (
        Lstm(5, 2, True),
        (11, 3),
        11 * (3 + 10 + 10 + 10),
        11 * (3 + 10 + 10 + 10),
        2 * 4 * 5 * (3 + 5 + 1) + 2 * 4 * 5 * (10 + 5 + 1),
    ),
    # 36 tokens of 50, 12 positions and a segment; of 30 tokens there are no 36 vectors.
    (Embedding(50, 20, 8), (12,), 12 + 12 * 8, 12 + 12 * 8, (36 + 12 + 1) * 8),
    (Embedding(30, 20, 8), (12,), 12 + 12 * 8, 12 + 12 * 8, (30 + 12 + 1) * 8),
    (Attention(2, 0.1), (5, 6), ATTENTION, ATTENTION + 2 * 50, 4 * (6 * 6 + 6)),
    (
        EncoderLayer(6, 2, 8, 0.1),
        (5, 6),
        ATTENTION + FEED_FORWARD + 2 * (3 * 30) + 2 * (2 * 30),  # two sums, two norms
        ATTENTION + 2 * 50 + FEED_FORWARD + 2 * (3 * 30) + 2 * (2 * 30) + 2 * 30 + 2 * 40 + 2 * 30,  # four dropouts
        4 * (6 * 6 + 6) + (6 * 8 + 8) + (8 * 6 + 6) + 2 * (2 * 6),
    ),
    (Residual((ONE_BY_ONE,)), (4, 3, 3), (36 + 36) + 3 * 36, (36 + 36) + 3 * 36, 4 * 4 + 4),
    (
        Residual((ONE_BY_ONE,), (ONE_BY_ONE,)),
        (2, 3, 3),
        2 * (18 + 36) + 3 * 36,
        2 * (18 + 36) + 3 * 36,
        2 * (2 * 4 + 4),
    ),
    (
        Branches(((ONE_BY_ONE,), (Dropout(0.5), Conv(3, (1, 1))))),
        (2, 5, 5),
        (50 + 100) + (50 + 75) + 2 * 175,
        (50 + 100) + 2 * 50 + (50 + 75) + 2 * 175,
        (2 * 4 + 4) + (2 * 3 + 3),
    ),
]
NAMES = [f"{type(layer).__name__}-{shape}" for layer, shape, *_ in EXAMPLES]


@pytest.mark.parametrize(("layer", "shape", "inference", "training", "weights"), EXAMPLES, ids=NAMES)
def test_a_layer_alone(layer: Layer, shape: Shape, inference: int, training: int, weights: int) -> None:
    assert (moved(layer, shape, False), moved(layer, shape, True)) == (inference, training)
    assert total_weights_read([layer], shape, 3) == weights


def test_layers_follow_each_other() -> None:
    chain = [Conv(4, (3, 3)), Relu(), Flatten(), Dense(10)]
    assert total_moved(chain, (2, 8, 8), False) == (128 + 144) + 2 * 144 + (144 + 10)
    assert total_weights_read(chain, (2, 8, 8), 1) == (4 * 2 * 9 + 4) + (144 * 10 + 10)
    assert (total_moved([], (3, 4), True), total_weights_read([], (3, 4), 1)) == (0, 0)
