"""Training to an accuracy, by a network that only counts what is asked of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hpcbench.core.samples import Samples
from hpcbench.node.errors import Missed
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.worker.tasks import time_to_accuracy
from hpcbench.node.workload.data import Items, Split

BATCH, BATCHES = 2, 100


class Counting:
    """Steps and predictions lie in a queue until someone synchronizes; right after `learned` steps."""

    def __init__(self, learned: int, all_ranks: Group | None = None) -> None:
        items = Items(np.zeros((BATCH * BATCHES, 1), np.float32), np.ones(BATCH * BATCHES, np.int32))
        held_out = Items(np.zeros((4, 1), np.float32), np.ones(4, np.int32))
        parameters = {"batch_size": BATCH, "max_epochs": 3, "target_accuracy": 0.9, "seed": 5}
        split = Split(items, held_out, 4)
        group = Group(Ranks(0, 1))
        self.problem = SimpleNamespace(
            parameters=parameters, group=group, all_ranks=all_ranks or group, split=split, steps_per_epoch=BATCHES
        )
        self.learned = learned
        self.steps = self.queued = self.longest = 0
        self.common = False
        self.now_s = 0  # on a clock of its own
        self.evaluated = items.labels

    def train(self) -> np.ndarray:
        assert not self.common
        self.steps += 1
        self._ask()
        self.now_s += 1
        return np.float32(1 / self.steps)  # the loss

    @contextmanager
    def common_weights(self) -> Iterator[None]:
        self.common = True
        yield
        self.common = False

    def predict(self, inputs: Any) -> np.ndarray:
        assert self.common, "an accuracy is that of the weights of all ranks"
        self._ask()
        self.now_s += 1000 if len(self.evaluated) == BATCH * BATCHES else 10  # the training sample takes longer
        return np.eye(2, dtype=np.float32)[np.full(len(inputs), int(self.steps >= self.learned))]

    def pipeline(self, items: Items, forever: bool) -> Any:
        self.evaluated = items.labels
        return [(items.inputs[:2], items.labels[:2]), (items.inputs[2:], items.labels[2:])]

    def to_numpy(self, result: Any) -> np.ndarray:
        return result

    def synchronize(self) -> None:
        self.queued = 0

    def _ask(self) -> None:
        self.queued += 1
        self.longest = max(self.longest, self.queued)


class Among(Group):
    """The ranks of a run of which the others train models of their own, in these times; None misses the target."""

    def __init__(self, *others: float | None) -> None:
        self.others: tuple[float | None, ...] = ()
        super().__init__(Ranks(0, 1))
        self.others = others

    def gather(self, value: Any) -> list[Any]:
        return [value, *self.others]


def learn(network: Counting) -> dict[str, Any]:
    return measure(network)[0]


def measure(network: Counting) -> tuple[dict[str, Any], Samples]:
    return time_to_accuracy.measure(network)  # type: ignore[arg-type]


def test_an_epoch_is_as_many_steps_as_there_are_batches_and_the_first_one_is_timed() -> None:
    network = Counting(learned=2 * BATCHES)
    found = learn(network)
    assert network.steps == 2 * BATCHES
    assert (found["epochs"], found["accuracy"]) == (2, 1.0)
    assert 0 < found["first_step_s"] < found["elapsed_s"]
    assert [point["accuracy"] for point in found["curve"]] == [0.0, 1.0]
    trained = [(point["trained_s"], point["elapsed_s"]) for point in found["curve"]]
    assert sorted(sum(trained, ())) == [*sum(trained, ())], "each validation follows its epoch"
    assert (found["seed"], found["held_out_items"]) == (5, 4)


def test_an_epoch_has_the_mean_loss_of_its_steps_and_the_accuracy_on_training_items() -> None:
    found = learn(Counting(learned=2 * BATCHES))
    expected = [np.mean([1 / step for step in range(first, first + BATCHES)]) for first in (1, BATCHES + 1)]
    assert [point["loss"] for point in found["curve"]] == pytest.approx(expected, rel=1e-6)
    assert [point["training_accuracy"] for point in found["curve"]] == [0.0, 1.0]
    assert found["sampled_items"] == BATCH * BATCHES, "all, since they are few"


def test_the_sample_of_the_training_items_is_a_tenth_of_the_held_out_ones_in_whole_batches() -> None:
    items = Items(np.arange(10_000), np.zeros(10_000, np.int32))
    for held_out, expected in ((100, 240), (5_000, 480)):
        split = Split(items, items.chosen(np.arange(held_out)), held_out)
        sample = time_to_accuracy._sample(split, 48)
        assert len(sample.labels) == expected
        assert np.array_equal(sample.inputs, np.arange(expected))


def test_only_a_few_steps_lie_in_the_queue_of_a_framework() -> None:
    network = Counting(learned=BATCHES)
    learn(network)
    assert network.longest == time_to_accuracy.SYNCHRONIZE_EVERY
    assert network.queued == 0, "what evaluation requested is done, too"


def test_a_target_that_is_missed_tells_how_far_it_came() -> None:
    with pytest.raises(Missed, match=r"the best accuracy was 0\.0000 after 3 epochs, and the target is 0\.9") as raised:
        learn(Counting(learned=10**9))
    assert raised.value.learning["elapsed_s"] is None
    assert len(raised.value.learning["curve"]) == 3


def test_the_time_of_one_model_is_its_own() -> None:
    learned, samples = measure(Counting(learned=BATCHES))
    assert samples.times_s == [learned["elapsed_s"]]
    assert samples.windows[0].end_s == learned["ended_s"]


@pytest.mark.parametrize("others", [(1e6,), (None, 1e6, 5.0)])
def test_the_time_of_several_models_ends_when_the_last_one_reaches_the_target(others: tuple[float | None]) -> None:
    learned, samples = measure(Counting(BATCHES, Among(*others)))
    assert samples.times_s == [1e6]
    (window,) = samples.windows
    assert window.end_s - window.start_s == pytest.approx(1e6)
    assert window.start_s == pytest.approx(learned["ended_s"] - learned["elapsed_s"], abs=1e-3)


def test_a_model_that_misses_the_target_does_not_end_the_run_of_another() -> None:
    learned, samples = measure(Counting(10**9, Among(7.0)))
    assert (learned["elapsed_s"], samples.times_s) == (None, [7.0])


def test_the_evaluation_of_the_training_sample_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Counting(learned=2 * BATCHES)
    clock = SimpleNamespace(monotonic=lambda: network.now_s, time=lambda: 0)
    monkeypatch.setattr(time_to_accuracy, "time", clock)
    learned, samples = measure(network)
    held_out, sample = 20, 2000  # two batches of each
    points = [(point["trained_s"], point["elapsed_s"]) for point in learned["curve"]]
    assert points == [(BATCHES, BATCHES + held_out), (2 * BATCHES + held_out, 2 * BATCHES + 2 * held_out)]
    assert samples.times_s == [2 * BATCHES + 2 * held_out]
    assert samples.windows == [(0, 2 * BATCHES + 2 * held_out + sample, 1)]
    assert "start_s" not in learned


def test_models_that_all_miss_the_target_end_the_run() -> None:
    with pytest.raises(Missed, match=r"the best accuracy was 0\.0000"):
        measure(Counting(10**9, Among(None, None)))
