"""First weights and synthetic input: pinned, so that no version of numpy, and no change of ours, alters them."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from hpcbench.models import catalog
from hpcbench.models.blocks import bodies
from hpcbench.models.initial_weights import InitialWeights, Numbers
from hpcbench.models.layers import BatchNorm, Conv, Dense, Layers, Lstm, Shape

SMALL: dict[str, dict[str, Any]] = {
    "mlp": {"input_size": 20, "hidden_size": 30},
    "lstm": {"input_size": 7, "hidden_size": 16},
    "lstm_stack": {"input_size": 7, "hidden_size": 16, "narrow_size": 8, "attention": True},
    "alexnet": {"image_size": 63},
    "resnet50": {"image_size": 32},
    "transformer": {"hidden_size": 32, "layers": 2, "heads": 4, "feed_forward_size": 48, "vocabulary": 50},
    "gpt": {"hidden_size": 32, "layers": 2, "heads": 4, "feed_forward_size": 48, "vocabulary": 50, "positions": 1024},
}


def test_uniform_numbers_are_pinned() -> None:
    found = Numbers(3).uniform((2, 3), 0.5)
    assert found.dtype == np.float32
    assert found.tolist() == [
        [0.26160430908203125, 0.31150054931640625, -0.39618682861328125],
        [-0.41434478759765625, 0.32796478271484375, -0.32056427001953125],
    ]


def test_integers_are_pinned() -> None:
    found = Numbers(3, 1).integers((8,), 10)
    assert found.dtype == np.int32
    assert found.tolist() == [2, 4, 3, 4, 5, 9, 3, 5]


def drawn(chain: Layers, shape: Shape, weights: InitialWeights) -> Iterator[np.ndarray]:
    """All weights of some layers, in their order."""
    for layer in chain:
        yield from weights.of(layer, shape).values()
        for body in bodies(layer):
            yield from drawn(body, shape, weights)
        shape = layer.output(shape)


@pytest.mark.parametrize(
    ("model", "crc32"),
    [
        ("mlp", 900659927),
        ("lstm", 2647043729),
        ("lstm_stack", 174406085),
        ("alexnet", 3065869937),
        ("resnet50", 1863766898),
        ("transformer", 2035388409),
        ("gpt", 1712880806),
    ],
)
def test_the_first_weights_of_a_model_are_pinned(model: str, crc32: int) -> None:
    chain, shape = catalog.network(model, catalog.resolved_options(model, SMALL[model]))
    checksum = 0
    for array in drawn(chain, shape, InitialWeights(3)):
        checksum = zlib.crc32(array.tobytes(), checksum)
    assert checksum == crc32


@pytest.mark.parametrize("seeds", [((1,), (2,)), ((1,), (1, 1)), ((1, 1), (1, 2)), ((0,), (2**32 - 1,))])
def test_another_seed_gives_other_numbers(seeds: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    first, second = (Numbers(*seed).uniform((100,), 1.0) for seed in seeds)
    assert not np.array_equal(first, second)


def test_numbers_go_on_where_they_stopped() -> None:
    numbers = Numbers(5)
    assert not np.array_equal(numbers.uniform((64,), 1.0), numbers.uniform((64,), 1.0))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 1001])
def test_any_count_of_numbers_can_be_asked_for(count: int) -> None:
    assert Numbers(1).uniform((count,), 1.0).shape == (count,)
    assert Numbers(1).integers((count,), 3).shape == (count,)


@pytest.mark.parametrize(("spread", "center"), [(1.0, 0.0), (0.02, 0.0), (0.5, 1.0)])
def test_uniform_numbers_fill_their_spread_and_do_not_leave_it(spread: float, center: float) -> None:
    found = Numbers(7).uniform((300, 400), spread, center).astype(np.float64)
    assert abs(found - center).max() <= spread
    assert abs(found - center).max() > 0.999 * spread
    # Standard errors of the mean and the variance of a uniform distribution: six of them are allowed.
    assert abs(found.mean() - center) < 6 * spread / math.sqrt(3 * found.size)
    assert abs(found.var() / (spread**2 / 3) - 1) < 6 * math.sqrt(0.8 / found.size)


@pytest.mark.parametrize("below", [1, 2, 3, 10, 50257])
def test_integers_take_every_value_below_the_end_equally_often(below: int) -> None:
    found = Numbers(7).integers((40 * below,), below)
    counts = np.bincount(found, minlength=below)
    assert len(counts) == below
    # Pearson's chi-square has mean below - 1 and variance 2 (below - 1).
    chi_square = ((counts - 40) ** 2 / 40).sum()
    assert abs(chi_square - (below - 1)) <= 6 * math.sqrt(2 * (below - 1))


@pytest.mark.parametrize(
    ("layer", "shape"), [(Dense(30), (40,)), (Conv(8, (3, 3)), (4, 9, 9)), (Lstm(16, 2, True), (5, 7))]
)
def test_the_arrays_of_a_layer_have_the_shapes_and_spreads_that_it_says(layer: Any, shape: Shape) -> None:
    arrays, asked = InitialWeights(1).of(layer, shape), layer.weights(shape)
    assert list(arrays) == list(asked)
    for name, weight in asked.items():
        assert arrays[name].shape == weight.shape
        assert arrays[name].dtype == np.float32
        assert 0.5 * weight.spread < abs(arrays[name]).max() <= weight.spread


def test_weights_without_a_spread_are_constant_and_take_no_numbers_from_the_stream() -> None:
    weights = InitialWeights(1)
    norm = weights.of(BatchNorm(), (3, 2, 2))
    assert (norm["scale"].tolist(), norm["offset"].tolist()) == ([1, 1, 1], [0, 0, 0])
    later, alone = (each.of(Dense(5), (4,))["kernel"] for each in (weights, InitialWeights(1)))
    assert np.array_equal(later, alone)
