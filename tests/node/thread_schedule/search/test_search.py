"""The search, on nodes of which the truth is known: those of the benchmark, and some made by hand."""

import sys
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed; not run: the search for a schedule")

from hpcbench.node.thread_schedule.search import shortest_path
from hpcbench.node.thread_schedule.search.search import Settings, search

pytestmark = pytest.mark.torch

BENCHMARKS = Path(__file__).parents[4] / "benchmarks"


class Exact:
    """A node without noise, on which a change costs the same always."""

    def __init__(self, times: list[dict[int, float]], change_s: float) -> None:
        self.times, self.change_s = times, change_s
        self.last = 0

    def time_step(self, counts: Sequence[int], divided: Collection[int] = ()) -> list[float]:
        seen = []
        for section, count in zip(self.times, counts, strict=True):
            seen.append(section[count] + self.change_s * (count != self.last))
            self.last = count
        return seen


WIDE_AND_NARROW = [{1: 8e-3, 4: 2e-3}, {1: 1e-3, 4: 2e-3}, {1: 4e-3, 4: 1e-3}]


def test_wide_sections_get_many_threads_and_narrow_ones_few() -> None:
    found = search(Exact(WIDE_AND_NARROW, 1e-4).time_step, 3, [1, 4])
    assert found.dynamic.counts == (4, 1, 4)
    assert found.dynamic.seconds == pytest.approx(4.2e-3)
    assert found.fixed == shortest_path.Path((4, 4, 4), pytest.approx(5e-3))
    assert found.times.change(4, 1).seconds == pytest.approx(1e-4)


def test_where_changes_cost_more_than_they_bring_one_count_is_the_answer() -> None:
    found = search(Exact(WIDE_AND_NARROW, 6e-4).time_step, 3, [1, 4])
    assert found.dynamic == found.fixed


def test_stalls_that_come_in_another_section_each_time_are_seen_in_whole_steps() -> None:
    class Stalling(Exact):
        """With four threads every section is faster, but for one in each step, which waits for a thread."""

        steps = 0

        def time_step(self, counts: Sequence[int], divided: Collection[int] = ()) -> list[float]:
            seen = super().time_step(counts, divided)
            self.steps += 1
            if counts[0] == 4:
                seen[self.steps % len(seen)] += 0.05
            return seen

    found = search(Stalling([{1: 3e-3, 4: 1e-3}] * 4, 1e-4).time_step, 4, [1, 4])
    assert found.fixed == shortest_path.Path((1, 1, 1, 1), pytest.approx(12e-3))


def test_the_best_single_count_is_that_of_steps_as_a_user_takes_them() -> None:
    node, whole = Exact(WIDE_AND_NARROW, 1e-4), Exact([{1: 3e-3, 4: 9e-3}], 0.0)
    found = search(node.time_step, 3, [1, 4], time_whole=whole.time_step)
    assert (found.fixed.counts, found.dynamic.counts) == ((1, 1, 1), (4, 1, 4))
    assert found.steps == 2 * 2 * 3 * 4 + 4  # both kinds with both counts, and the path


def test_a_count_that_may_be_the_best_is_measured_on_and_a_worse_one_is_not() -> None:
    class Noisy(Exact):
        taken = 0

        def time_step(self, counts: Sequence[int], divided: Collection[int] = ()) -> list[float]:
            self.taken += 1
            return [time_s * (0.9, 1.0, 1.1)[self.taken % 3] for time_s in super().time_step(counts)]

    whole = Noisy([{1: 1e-3, 4: 1e-3, 8: 9e-3}], 0.0)
    asked: list[int] = []

    def time_whole(counts: Sequence[int], divided: Collection[int] = ()) -> list[float]:
        asked.append(counts[0])
        return whole.time_step(counts)

    same = Exact([{1: 1e-3, 4: 1e-3, 8: 1e-3}], 0.0)
    search(same.time_step, 1, [1, 4, 8], time_whole=time_whole)
    assert asked.count(8) == 12 < min(asked.count(1), asked.count(4))


def test_one_section_needs_no_change() -> None:
    found = search(Exact([{1: 2.0, 4: 1.0}], 0.1).time_step, 1, [1, 4])
    assert found.dynamic == found.fixed == shortest_path.Path((4,), 1.0)


def test_a_budget_ends_the_search_when_every_count_has_its_fewest_visits() -> None:
    found = search(Exact(WIDE_AND_NARROW, 1e-4).time_step, 3, [1, 4], Settings(budget_s=0.0))
    assert found.steps == 2 * 3 * 4 + 4  # the last are of the path, whose changes nobody knew
    assert found.fixed.counts == (4, 4, 4)


@pytest.fixture
def simulated_node(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import simulated_node

    yield simulated_node
    sys.modules.pop("simulated_node", None)


def test_on_simulated_nodes_the_answer_is_near_the_best_path_and_not_slower_than_fixed(simulated_node) -> None:  # type: ignore[no-untyped-def]
    judged = [simulated_node.judge(seed, simulated_node.BUDGETS_S[1]) for seed in range(10)]
    assert max(each.loss for each in judged) < 0.02
    assert min(each.gain for each in judged) > 0.99
    assert sum(each.kept for each in judged) >= 5


class Divisible(Exact):
    """Of the last section, branches can compute side by side; these are its times then."""

    def __init__(self, times: list[dict[int, float]], change_s: float, side_by_side: dict[int, float]) -> None:
        super().__init__(times, change_s)
        self.side_by_side = side_by_side

    def time_step(self, counts: Sequence[int], divided: Collection[int] = ()) -> list[float]:
        seen = super().time_step(counts)
        for section in divided:
            seen[section] = self.side_by_side[counts[section]] + self.change_s * (
                counts[section - 1] != counts[section]
            )
        return seen


def test_branches_are_divided_where_that_is_faster() -> None:
    node = Divisible(WIDE_AND_NARROW, 1e-4, {4: 5e-4})
    found = search(node.time_step, 3, [1, 4], divisible=[2])
    assert (found.dynamic.counts, found.divided) == ((4, 1, 4), {2})
    assert found.dynamic.seconds == pytest.approx(3.7e-3)
    assert found.fixed == shortest_path.Path((4, 4, 4), pytest.approx(5e-3)), "a user's fixed count divides nothing"
    assert found.side_by_side.seconds(2) == {4: 5e-4}


def test_one_count_for_all_may_be_divided_too() -> None:
    found = search(Divisible([{1: 3.0, 4: 2.0}], 0.1, {4: 1.0}).time_step, 1, [1, 4], divisible=[0])
    assert (found.dynamic, found.divided) == (shortest_path.Path((4,), 1.0), {0})


def test_a_section_takes_another_count_where_its_branches_are_faster_so() -> None:
    found = search(Divisible([{1: 1.0, 4: 2.0}], 0.1, {4: 0.5}).time_step, 1, [1, 4], divisible=[0])
    assert found.dynamic == shortest_path.Path((4,), 0.5)
    assert found.fixed == shortest_path.Path((1,), 1.0)


def test_branches_stay_in_turn_where_that_is_as_fast() -> None:
    found = search(Divisible(WIDE_AND_NARROW, 1e-4, {4: 1e-3}).time_step, 3, [1, 4], divisible=[2])
    assert (found.dynamic.counts, found.divided) == ((4, 1, 4), set())
