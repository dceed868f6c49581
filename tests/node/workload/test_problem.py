"""What a case asks of a framework, as one rank of its group has to solve it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcbench.core.frameworks import TRAINING_FRAMEWORKS
from hpcbench.models import catalog
from hpcbench.models.optimizers import optimizer_of
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem
from hpcbench.node.workload.data import BadData
from hpcbench.node.workload.problem import Problem, channels_last

State = Callable[..., Problem]
SMALL = {
    "mlp": {"input_size": 20},
    "lstm": {"input_size": 7, "sequence_length": 9},
    "lstm_stack": {"input_size": 7, "sequence_length": 9},
    "resnet50": {"image_size": 32},
    "transformer": {"sequence_length": 12, "vocabulary": 50, "classes": 3},
}
GPT = {"hidden_size": 8, "layers": 1, "heads": 2, "feed_forward_size": 8, "vocabulary": 50, "sequence_length": 12}
SHAPES = {"mlp": (20,), "lstm": (9, 7), "lstm_stack": (9, 7), "resnet50": (3, 32, 32), "transformer": (12,)}


class RankOf(Group):
    """A group as one of its ranks sees it, without the others."""

    def __init__(self, rank: int, size: int) -> None:
        super().__init__(Ranks(0, 1))
        self.rank, self.size = rank, size


@pytest.fixture
def state(make_parameters: Callable[..., dict[str, Any]]) -> State:
    def make(rank: int = 0, size: int = 1, **changes: Any) -> Problem:
        return problem.of_case(make_parameters(**changes), RankOf(rank, size))

    return make


@pytest.mark.parametrize("model", SMALL)
def test_a_batch_has_items_of_the_models_shape_and_a_label_for_each(state: State, model: str) -> None:
    asked = state(model=model, model_options=SMALL[model], batch_size=5)
    inputs, labels = asked.batch()
    assert asked.item_shape == SHAPES[model]
    assert inputs.shape == (5, *SHAPES[model])
    assert labels.shape == (5,)
    assert labels.dtype == np.int32
    assert 0 <= labels.min() <= labels.max() < asked.options["classes"]


def test_the_labels_of_a_language_model_are_the_next_tokens(state: State) -> None:
    asked = state(model="gpt", model_options=GPT, batch_size=5)
    inputs, labels = asked.batch()
    assert inputs.shape == labels.shape == (5, 12)
    assert inputs.dtype == labels.dtype == np.int32
    assert (inputs[:, 1:] == labels[:, :-1]).all()
    assert set(np.unique(inputs)) <= set(range(50))


def test_the_items_of_a_language_model_are_tokens(state: State) -> None:
    optimizer = {"name": "sgd", "gradient_accumulation_steps": 2}
    asked = state(model="gpt", model_options=GPT, batch_size=5, size=3, task="training", optimizer=optimizer)
    assert asked.items_per_step == 5 * 12 * 2 * 3
    assert asked.flops_per_item == catalog.flops_per_item("gpt", asked.options, training=True)
    assert state(batch_size=5, size=3).items_per_step == 15


def test_tokens_are_numbers_below_the_vocabulary(state: State) -> None:
    inputs, _ = state(model="transformer", model_options=SMALL["transformer"], batch_size=500).batch()
    assert inputs.dtype == np.int32
    assert set(np.unique(inputs)) == set(range(50))


def test_any_other_input_has_mean_0_and_variance_1(state: State) -> None:
    inputs, _ = state(model="mlp", batch_size=500).batch()
    assert inputs.dtype == np.float32
    assert abs(inputs.mean()) < 0.01
    assert abs(inputs.var() - 1) < 0.01


def test_every_label_occurs(state: State) -> None:
    _, labels = state(model="mlp", model_options={"input_size": 1, "classes": 7}, batch_size=1000).batch()
    assert set(labels) == set(range(7))


def test_the_ranks_have_equal_weights_and_input_of_their_own(state: State) -> None:
    first, second = (state(rank, 2, strategy="ddp", tasks_per_node=2, model="mlp") for rank in (0, 1))
    kernels = [each.weights().of(each.layers[0], each.item_shape)["kernel"] for each in (first, second)]
    assert np.array_equal(*kernels)
    for one, other in zip(first.batch(), second.batch(), strict=True):
        assert not np.array_equal(one, other)


def test_a_batch_is_the_same_every_time(state: State) -> None:
    for one, other in zip(state(seed=4).batch(), state(seed=4).batch(), strict=True):
        assert np.array_equal(one, other)


def test_another_seed_changes_weights_input_and_labels(state: State) -> None:
    first, second = state(seed=1, batch_size=64), state(seed=2, batch_size=64)
    for one, other in zip(first.batch(), second.batch(), strict=True):
        assert not np.array_equal(one, other)
    kernels = [each.weights().of(each.layers[0], each.item_shape)["kernel"] for each in (first, second)]
    assert not np.array_equal(*kernels)


def test_the_framework_changes_neither_weights_nor_input(state: State) -> None:
    batches = [state(framework=framework, model="mlp").batch()[0] for framework in TRAINING_FRAMEWORKS]
    assert all(np.array_equal(batch, batches[0]) for batch in batches)


@pytest.mark.parametrize(
    ("strategy", "task", "parallel"),
    [
        ("single", "training", False),
        ("single", "inference", False),
        ("ddp", "training", True),
        ("ddp", "inference", False),  # replicas, which have nothing to say to one another
        ("fsdp", "training", True),
        ("fsdp", "inference", True),  # parts of the weights
        ("horovod", "inference", False),
        ("deepspeed", "training", True),
    ],
)
def test_whether_the_ranks_do_something_together(state: State, strategy: str, task: str, parallel: bool) -> None:
    tasks = 1 if strategy == "single" else 2
    assert state(size=tasks, strategy=strategy, task=task, tasks_per_node=tasks).parallel is parallel


@pytest.mark.parametrize("task", ["training", "time_to_accuracy"])
def test_training_does_three_times_the_work_of_inference(state: State, task: str) -> None:
    learning = {"data": {"npz": "x.npz"}, "target_accuracy": 0.9} if task == "time_to_accuracy" else {}
    training, inference = state(task=task, **learning), state(task="inference")
    assert (training.training, inference.training) == (True, False)
    assert training.flops_per_item == 3 * inference.flops_per_item
    assert inference.flops_per_item == catalog.flops_per_item("mlp", inference.options, training=False)


def test_synthetic_input_is_not_split(state: State) -> None:
    assert state().split is None


def test_each_rank_gets_its_part_of_real_data(state: State, tmp_path: Any) -> None:
    path = tmp_path / "data.npz"
    np.savez(path, x=np.arange(80, dtype=np.float32).reshape(20, 4), y=np.arange(20) % 3)
    given = {"task": "training", "data": {"npz": str(path)}, "held_out": 0.2, "batch_size": 2}
    options = {"model_options": {"input_size": 4, "classes": 3}, "strategy": "ddp", "tasks_per_node": 2}
    splits = [state(rank, 2, **given, **options).split for rank in (0, 1)]
    assert [len(split.training.labels) for split in splits if split] == [8, 8]
    with pytest.raises(BadData, match="items of shape"):
        assert state(**given, model_options={"input_size": 5, "classes": 3}).split


def test_images_turn_to_channels_last_and_all_else_stays() -> None:
    images = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    turned = channels_last(images)
    assert turned.shape == (2, 4, 5, 3)
    assert turned[1, 2, 3, 0] == images[1, 0, 2, 3]
    assert turned.flags["C_CONTIGUOUS"]
    sequence = np.arange(24).reshape(2, 3, 4)
    assert channels_last(sequence) is sequence


@pytest.fixture
def digits(tmp_path: Path) -> dict[str, Any]:
    """Parameters that train to an accuracy on ten numbered items."""
    path = tmp_path / "items.npz"
    np.savez(path, x=np.arange(10, dtype=np.float32).reshape(10, 1), y=np.arange(10))
    options = {"model": "mlp", "model_options": {"input_size": 1}, "batch_size": 2, "data": {"npz": str(path)}}
    return {**options, "task": "time_to_accuracy", "target_accuracy": 0.9, "held_out": 0.2, "seed": 7}


def test_each_rank_trains_a_model_of_its_own_on_all_data_and_from_its_own_seed(
    state: State, digits: dict[str, Any]
) -> None:
    alone, third = state(**digits), state(rank=2, size=3, **digits)
    assert (alone.parameters["seed"], third.parameters["seed"]) == (7, 9)
    assert (third.group.rank, third.group.size, third.all_ranks.size) == (0, 1, 3)
    assert third.items_per_epoch == alone.items_per_epoch == 8
    assert alone.split is not None
    assert third.split is not None
    for part in ("training", "held_out"):
        one, other = getattr(alone.split, part).labels, getattr(third.split, part).labels
        assert np.array_equal(one, other), "all models learn and are tested on the same items"
    one, other = (each.weights().of(each.layers[0], each.item_shape) for each in (alone, third))
    assert any(not np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(("accumulated", "steps_per_epoch"), [(1, 4), (2, 2)])
def test_a_learning_rate_over_epochs_is_one_over_the_steps_of_the_data(
    state: State, digits: dict[str, Any], accumulated: int, steps_per_epoch: int
) -> None:
    rate = {"schedule": "steps", "unit": "epochs", "peak": 0.1, "warmup_steps": 2, "milestones": [[3, 0.01]]}
    optimizer = {"name": "sgd", "learning_rate": rate, "gradient_accumulation_steps": accumulated}
    found = state(**digits, optimizer=optimizer).optimizer
    steps = {**rate, "unit": "steps", "warmup_steps": 2 * steps_per_epoch, "milestones": [[3 * steps_per_epoch, 0.01]]}
    assert found == optimizer_of({**optimizer, "learning_rate": steps})


def test_ranks_that_train_one_model_share_the_data_and_the_seed(state: State, digits: dict[str, Any]) -> None:
    third = state(rank=2, size=3, **{**digits, "strategy": "ddp"})
    assert (third.parameters["seed"], third.group.rank, third.items_per_epoch) == (7, 2, 6)


def test_only_local_sgd_has_steps_without_averaging(state: State) -> None:
    assert state(strategy="local_sgd", tasks_per_node=2, averaging_period=4, task="training").averaging_period == 4
    assert state(strategy="ddp", averaging_period=4, task="training").averaging_period == 1
    assert state(strategy="single", averaging_period=4, task="training").averaging_period == 1
