import itertools
import random

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed; not run: the cheapest counts of threads")

from hpcbench.node.thread_schedule.search import shortest_path

pytestmark = pytest.mark.torch


def free(before: int, after: int) -> float:
    return 0.0


def test_without_a_price_of_changes_each_section_has_its_own_best_count() -> None:
    times = [{1: 3.0, 2: 1.0}, {1: 1.0, 2: 2.0}, {1: 5.0, 2: 4.0}]
    assert shortest_path.cheapest(times, free) == shortest_path.Path((2, 1, 2), 6.0)


def test_a_change_is_made_only_where_it_pays_for_both_ways() -> None:
    times = [{1: 10.0, 2: 5.0}, {1: 1.0, 2: 2.0}]
    assert shortest_path.cheapest(times, lambda before, after: 0.4).counts == (2, 1)  # 6 + 2 * 0.4 against 7
    assert shortest_path.cheapest(times, lambda before, after: 0.6).counts == (2, 2)


def test_the_way_back_to_the_first_section_is_paid_for() -> None:
    times = [{1: 10.0, 2: 5.0}, {1: 1.0, 2: 2.0}]
    dear_back = {(2, 1): 0.0, (1, 2): 1.5}
    assert shortest_path.cheapest(times, lambda before, after: dear_back[before, after]).counts == (2, 2)


def test_as_cheap_as_the_best_of_all_paths() -> None:
    generator = random.Random(1)
    for _ in range(50):
        times = [{count: generator.random() for count in (1, 2, 4)} for _ in range(5)]
        costs = {pair: generator.random() / 3 for pair in itertools.permutations((1, 2, 4), 2)}
        every = [
            shortest_path.seconds_of(counts, times, lambda *change, costs=costs: costs[change])
            for counts in itertools.product((1, 2, 4), repeat=5)
        ]
        found = shortest_path.cheapest(times, lambda *change, costs=costs: costs[change])
        assert found.seconds == pytest.approx(min(every))


def test_sections_may_have_counts_of_their_own() -> None:
    times = [{1: 3.0, 2: 1.0}, {1: 1.0}]
    assert shortest_path.cheapest(times, free).counts == (2, 1)
    assert shortest_path.best_fixed(times) == shortest_path.Path((1, 1), 4.0)


def test_a_negative_price_is_noise_and_counts_as_none() -> None:
    assert shortest_path.seconds_of((1, 2), [{1: 1.0}, {2: 1.0}], lambda before, after: -5.0) == 2.0


def test_no_section_is_no_path() -> None:
    with pytest.raises(ValueError, match="needs sections"):
        shortest_path.cheapest([], free)


@pytest.mark.parametrize(
    ("limit", "counts"), [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (12, [1, 2, 4, 8, 12]), (64, [1, 2, 4, 8, 16, 32, 64])]
)
def test_counts_are_powers_of_two_and_the_limit(limit: int, counts: list[int]) -> None:
    assert shortest_path.counts_up_to(limit) == counts


@pytest.mark.parametrize(
    ("default", "counts"), [(1, [1, 2, 4, 6]), (3, [1, 2, 3, 4, 6]), (6, [1, 2, 4, 6]), (12, [1, 2, 4, 6])]
)
def test_the_count_that_a_plain_user_has_is_one_of_them_up_to_the_limit(default: int, counts: list[int]) -> None:
    assert shortest_path.counts_up_to(6, default) == counts
