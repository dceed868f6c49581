"""Training to an accuracy, by a network that only counts what is asked of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hpcbench.node.errors import Missed
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.worker.tasks import time_to_accuracy
from hpcbench.node.workload.data import Items, Split

BATCH, BATCHES = 2, 100


class Counting:
    """Steps and predictions lie in a queue until someone synchronizes; right after `learned` steps."""

    def __init__(self, learned: int) -> None:
        items = Items(np.zeros((BATCH * BATCHES, 1), np.float32), np.ones(BATCH * BATCHES, np.int32))
        held_out = Items(np.zeros((4, 1), np.float32), np.ones(4, np.int32))
        parameters = {"batch_size": BATCH, "max_epochs": 3, "target_accuracy": 0.9}
        split = Split(items, held_out, 4)
        group = Group(Ranks(0, 1))
        self.problem = SimpleNamespace(parameters=parameters, group=group, split=split, steps_per_epoch=BATCHES)
        self.learned = learned
        self.steps = self.queued = self.longest = 0

    def train(self) -> None:
        self.steps += 1
        self._ask()

    def predict(self, inputs: Any) -> np.ndarray:
        self._ask()
        return np.eye(2, dtype=np.float32)[np.full(len(inputs), int(self.steps >= self.learned))]

    def pipeline(self, items: Items, forever: bool) -> Any:
        return [(items.inputs[:2], items.labels[:2]), (items.inputs[2:], items.labels[2:])]

    def to_numpy(self, result: Any) -> np.ndarray:
        return result

    def synchronize(self) -> None:
        self.queued = 0

    def _ask(self) -> None:
        self.queued += 1
        self.longest = max(self.longest, self.queued)


def learn(network: Counting) -> dict[str, Any]:
    return time_to_accuracy.learn(network)  # type: ignore[arg-type]


def test_an_epoch_is_as_many_steps_as_there_are_batches_and_the_first_one_is_timed() -> None:
    network = Counting(learned=2 * BATCHES)
    found = learn(network)
    assert network.steps == 2 * BATCHES
    assert (found["epochs"], found["accuracy"]) == (2, 1.0)
    assert 0 < found["first_step_s"] < found["elapsed_s"]
    assert [point["accuracy"] for point in found["curve"]] == [0.0, 1.0]


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
