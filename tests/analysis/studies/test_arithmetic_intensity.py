"""Operations and bytes of steps, reckoned by hand."""

from __future__ import annotations

import json

import pytest

from hpcbench.analysis.studies.arithmetic_intensity import StepWork, step_work
from hpcbench.models import blocks, catalog
from hpcbench.models.layers import Conv, Dense

SMALL = json.dumps({"input_size": 3, "hidden_size": 4, "layers": 1, "classes": 2})
# Of each item: 3 in and 4 out, 4 in and 4 out, 4 in and 2 out. Of weights and biases: 3 x 4 + 4 and 4 x 2 + 2.
MOVED, WEIGHTS, FLOPS = 7 + 8 + 6, 16 + 10, 2 * 3 * 4 + 2 * 4 * 2


@pytest.mark.parametrize(
    ("task", "dtype", "expected"),
    [
        ("inference", "float32", StepWork(5 * FLOPS, 4 * (5 * MOVED + WEIGHTS))),
        ("inference", "bfloat16", StepWork(5 * FLOPS, 2 * (5 * MOVED + WEIGHTS))),
        ("training", "float32", StepWork(3 * 5 * FLOPS, 4 * (3 * 5 * MOVED + 2 * WEIGHTS) + 4 * 6 * WEIGHTS)),
        ("training", "float16", StepWork(3 * 5 * FLOPS, 2 * (3 * 5 * MOVED + 2 * WEIGHTS) + 4 * 6 * WEIGHTS)),
    ],
)
def test_a_small_mlp_with_five_items(task: str, dtype: str, expected: StepWork) -> None:
    assert step_work("mlp", SMALL, task, 5, dtype) == expected


def test_intensity_is_operations_per_byte() -> None:
    assert step_work("mlp", SMALL, "inference", 5, "float32").intensity == 200 / 524


def one_layer(monkeypatch: pytest.MonkeyPatch, layer: object, shape: tuple[int, ...]) -> str:
    model = catalog.Model("one layer", {}, lambda options: shape, lambda options: [layer])
    monkeypatch.setitem(catalog.MODELS, "one", model)
    step_work.cache_clear()
    return "one"


def test_a_dense_layer_reads_its_weights_once_for_all_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one item it does little more than read 1000 x 1000 weights: half an operation for each byte of float32. Of
    very many, 2 x 1000 x 1000 operations for each 8000 bytes."""
    one_layer(monkeypatch, Dense(1000), (1000,))
    assert step_work("one", "{}", "inference", 1, "float32") == StepWork(2_000_000, 4 * (2000 + 1_001_000))
    assert step_work("one", "{}", "inference", 1, "float32").intensity == pytest.approx(0.5, rel=0.01)
    assert step_work("one", "{}", "inference", 10**6, "float32").intensity == pytest.approx(250, rel=0.01)


def test_a_convolution(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of VGG-16: 64 filters of 3 x 3 over 64 channels of 224 x 224; 3.70 GFLOP, and 25.8 MB."""
    one_layer(monkeypatch, Conv(64, (3, 3), 1, (1, 1)), (64, 224, 224))
    work = step_work("one", "{}", "inference", 1, "float32")
    assert work.flops == 2 * 9 * 64 * 64 * 224 * 224 == 3_699_376_128
    assert work.moved_bytes == 4 * (2 * 64 * 224 * 224 + 9 * 64 * 64 + 64) == 25_837_824


@pytest.mark.parametrize(
    ("optimizer", "batches", "numbers"),
    [("sgd", 1, 4), ("momentum", 1, 6), ("adam(eps=0.0001)", 1, 8), ("lamb", 1, 8), ("sgd", 3, 8)],
)
def test_the_optimizer_and_accumulation_move_numbers_per_weight(optimizer: str, batches: int, numbers: int) -> None:
    alone = step_work("mlp", SMALL, "inference", 5, "float32")
    work = step_work("mlp", SMALL, "training", 5, "float32", optimizer, batches)
    weights = blocks.parameter_count(*catalog.network("mlp", catalog.resolved_options("mlp", json.loads(SMALL))))
    assert work.flops == batches * 3 * alone.flops
    passes = step_work("mlp", SMALL, "training", 5, "float32", "sgd").moved_bytes - 4 * 4 * weights
    assert work.moved_bytes == batches * passes + 4 * numbers * weights


@pytest.mark.parametrize("model", catalog.MODELS)
def test_larger_batches_of_every_model_are_more_intense(model: str) -> None:
    for task in ("inference", "training"):
        few, many = (step_work(model, "{}", task, items, "float32").intensity for items in (1, 32))
        assert 0 < few < many


@pytest.mark.parametrize(
    ("model", "options", "dtype"),
    [("gpt5", "{}", "float32"), ("mlp", "{}", "float8"), ("mlp", '{"size": 1}', "float32"), ("mlp", "{", "float32")],
)
def test_what_is_not_known_has_none(model: str, options: str, dtype: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        step_work(model, options, "inference", 1, dtype)
