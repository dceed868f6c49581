"""The check of the items that pipelines deliver, with faults planted in a pipeline that stands in for a framework's."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hpcbench.collect.class_bias import class_bias_columns
from hpcbench.core.typed_json import from_json, to_json
from hpcbench.core.validation.result import FAILED, NOT_VALIDATED, PASSED, Validation
from hpcbench.node.launch import ports
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.worker.validation import data_check
from hpcbench.node.worker.validation.data_check import _Delivered, check_data, compared
from hpcbench.node.workload import problem
from hpcbench.node.workload.data import Items

COUNT, BATCH, RANKS = 103, 8, 2
PARAMETERS = {
    "model": "mlp",
    "model_options": {"input_size": 3, "hidden_size": 4, "classes": 5},
    "task": "training",
    "strategy": "ddp",
    "batch_size": BATCH,
    "held_out": 0.1,
    "seed": 3,
    "optimizer": {"name": "sgd"},
}
Sampler = Callable[[int, int, int], "np.ndarray[Any, Any]"]  # (rank, items, epoch) -> places
Alter = Callable[[Any, Any], Any]


def unchanged(inputs: Any, labels: Any) -> Any:
    return inputs, labels


def shuffled(rank: int, count: int, epoch: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng([rank, epoch]).permutation(count)


def repeating(rank: int, count: int, epoch: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng([rank, epoch]).integers(0, count, count)


def skipping(rank: int, count: int, epoch: int) -> np.ndarray[Any, Any]:
    """Leave out item 0 in the second epoch, for which item 1 comes twice."""
    places = shuffled(rank, count, epoch)
    return np.maximum(np.sort(places), epoch)[places]


def skewed(since: int) -> Sampler:
    """Deliver two of the items again and again on rank 0, from epoch `since` on: of five classes, at most two."""

    def sampler(rank: int, count: int, epoch: int) -> np.ndarray[Any, Any]:
        places = shuffled(rank, count, epoch)
        return places % 2 if rank == 0 and epoch >= since else places

    return sampler


def in_order(rank: int, count: int, epoch: int) -> np.ndarray[Any, Any]:
    return np.arange(count)


class Piped:
    """A network with a pipeline of arrays; `alter` changes a batch, and `plain` one of the reference."""

    def __init__(self, of_rank: Any, sampler: Sampler, alter: Alter, plain: Alter) -> None:
        self.problem, self.sampler, self.alter, self.plain = of_rank, sampler, alter, plain

    def pipeline(self, items: Items, forever: bool) -> Iterator[Any]:
        count, rank = len(items.labels), self.problem.group.rank
        for epoch in range(2) if forever else [0]:
            order = self.sampler(rank, count, epoch) if forever else np.arange(count)
            for first in range(0, count - BATCH + 1, BATCH):
                chosen = items.chosen(order[first : first + BATCH])
                yield (self.alter if forever else self.plain)(*chosen)

    def to_numpy(self, array: Any) -> Any:
        return np.asarray(array, np.float32)


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., list[Validation]]:
    def check(
        sampler: Sampler = shuffled,
        alter: Alter = unchanged,
        plain: Alter = unchanged,
        *,
        same_share: bool = False,
        duplicates: int = 0,
    ) -> list[Validation]:
        x = np.random.default_rng(1).random((COUNT, 3), np.float32)
        x[:duplicates] = 0.5
        y = np.arange(COUNT) % 5
        y[:duplicates] = 1
        np.savez(tmp_path / "data.npz", x=x, y=y)
        held, port = ports.claim(random.randrange(ports.COUNT))  # other tests claim ports at the same time
        held.close()
        parameters = {**PARAMETERS, "data": {"npz": str(tmp_path / "data.npz")}}

        def rank_of(rank: int) -> Validation:
            group = Group(Ranks(rank, RANKS, meeting=port - ports.FIRST, token=str(tmp_path), host="n1"))
            own = problem.of_case(parameters, group)
            if same_share:
                alone = SimpleNamespace(rank=0, size=RANKS)
                vars(own)["split"] = problem.of_case(parameters, alone).split  # type: ignore[arg-type]
            found = check_data(Piped(own, sampler, alter, plain))  # type: ignore[arg-type]
            group.gather(None)
            group.close()
            return found

        with ThreadPoolExecutor(RANKS) as pool:
            return list(pool.map(rank_of, range(RANKS)))

    return check


@pytest.mark.parametrize("duplicates", [0, 40])
def test_each_item_once_per_epoch_passes(check: Any, duplicates: int) -> None:
    one, other = check(duplicates=duplicates)
    assert one.verdict == other.verdict == PASSED
    data = one.data
    assert data == other.data
    assert (data.items, data.dropped_items) == (80, 93 - 80), "46 items of each rank fill 5 batches of 8"
    assert (data.repeated_items, data.missing_items, data.reshuffled) == (0, 0, True)
    assert [[sum(counts) for counts in epoch] for epoch in data.class_counts] == [[40, 40], [40, 40]]
    assert sum(data.split_class_counts) == 93
    assert from_json(Validation, to_json(one)).data.items == 80


@pytest.mark.parametrize(
    ("changes", "repeats"),
    [
        ({"sampler": repeating}, 28),
        ({"sampler": skipping}, 2),
        ({"same_share": True}, 35),
        ({"alter": lambda inputs, labels: (inputs, np.roll(labels, 1))}, 66),
        ({"alter": lambda inputs, labels: (inputs * np.float32(0.5), labels)}, 80),
    ],
    ids=["repeats", "skips", "the share of another rank", "labels of other items", "other inputs"],
)
def test_items_that_are_not_delivered_once_are_found(check: Any, changes: dict[str, Any], repeats: int) -> None:
    for found in check(**changes):
        assert found.verdict == FAILED
        assert found.reason.startswith("the pipelines delivered ")
        assert found.data.missing_items == found.data.repeated_items == repeats


def test_all_inputs_of_a_model_belong_to_an_item(check: Any) -> None:
    def second(shift: int) -> Callable[[Any, Any], Any]:
        return lambda inputs, labels: ({"a": inputs, "b": np.roll(inputs, shift, 0)}, labels)

    assert {found.verdict for found in check(alter=second(0), plain=second(0))} == {PASSED}
    for found in check(alter=second(1), plain=second(0)):
        assert found.verdict == FAILED
        assert found.data.missing_items > 0


def test_large_data_are_not_checked(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_check, "MOST_ITEMS", COUNT - 1)
    for found in check():
        assert found.verdict == NOT_VALIDATED
        assert found.reason == "too large: the data has 103 items; at most 102 are checked"


def test_an_epoch_in_the_order_of_the_last_one_is_found(check: Any) -> None:
    for found in check(sampler=in_order):
        assert found.verdict == FAILED
        assert found.reason == "the pipeline of a rank delivered two epochs in the same order"
        assert found.data.repeated_items == 0


@pytest.mark.parametrize(("same", "other", "expected"), [(9, 9, None), (10, 9, False), (9, 10, False)])
def test_the_order_of_a_rank_is_judged_from_ten_different_items(same: int, other: int, expected: bool | None) -> None:
    def epochs(different: int) -> list[_Delivered]:
        return [_Delivered([*range(different), 0, 0], [])] * 2

    whole = [_Delivered([*range(different), 0, 0], []) for different in (same, other)]
    check = compared(whole, [epochs(same), epochs(other)], same + other + 4)
    assert (check.reshuffled, check.repeated_items, check.missing_items) == (expected, 0, 0)
    assert (data_check._reason(check) is None) == (expected is None)


@pytest.mark.parametrize("label", [-1, 7])
def test_labels_that_the_data_do_not_have_are_counted_and_have_the_p_value_0(check: Any, label: int) -> None:
    for found in check(alter=lambda inputs, labels: (inputs, np.where(labels == 4, label, labels))):
        assert found.verdict == FAILED
        assert len(found.data.split_class_counts) == 5
        assert {len(counts) for epoch in found.data.class_counts for counts in epoch} == {6}
        assert class_bias_columns(SimpleNamespace(validation=found)) == {"class_bias_p_value": 0.0}  # type: ignore[arg-type]


@pytest.mark.parametrize("since", [0, 1], ids=["both epochs", "the second epoch"])
def test_other_shares_of_classes_on_one_rank_have_a_small_p_value(check: Any, since: int) -> None:
    def p_value(sampler: Sampler) -> float:
        (one, other) = (class_bias_columns(SimpleNamespace(validation=each)) for each in check(sampler))  # type: ignore[arg-type]
        assert one == other
        return float(one["class_bias_p_value"])

    assert p_value(shuffled) > 0.01
    assert p_value(skewed(since)) < 1e-9
