"""Rules tested on networks that they were not mined on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.analysis.studies.guideline_transfer import transfer
from hpcbench.analysis.studies.guidelines import mine, wilson
from hpcbench.core.frameworks import THREAD_COUNTS

Matrix = Callable[..., Any]
AXES = {
    "parameter_count": [100, 200, 300],
    "batch_size": [1, 2, 4],
    "intra_op_threads": [None, 1, 2, 4],
    "inter_op_threads": [None],
}


def steady(seconds: Callable[..., float]) -> Callable[..., list[float]]:
    return lambda **point: [seconds(**point) * factor for factor in (0.999, 1.0, 1.001)]


def four_is_best(parameter_count: int, batch_size: int, intra_op_threads: int | None, **_: Any) -> float:
    return 0.6 if intra_op_threads is None else 1 / intra_op_threads


def test_a_rule_that_holds_everywhere_beats_all_others_on_every_network(matrix: Matrix) -> None:
    found = transfer(matrix(steady(four_is_best), **AXES).cases)
    assert found is not None
    assert {each.words for each in found.followed} == {"intra_op_threads = 4"}
    assert (len(found.followed), found.networks, found.without_rule) == (9, 3, 0)
    assert found.within == wilson(9, 9)
    assert found.beats.estimate == 1
    assert found.beats.high == 1


def test_a_network_on_which_the_rule_of_the_others_fails_counts_against_it(matrix: Matrix) -> None:
    """Of the third one, a single thread is best and four are worst, of which the other two know nothing."""

    def seconds(parameter_count: int, intra_op_threads: int | None, **others: Any) -> float:
        if parameter_count == 300:
            return 2.0 if intra_op_threads is None else float(intra_op_threads)
        return four_is_best(parameter_count, intra_op_threads=intra_op_threads, **others)

    cases = matrix(steady(seconds), **AXES).cases
    found = transfer(cases)
    assert found is not None
    by_case = cases.set_index("case")["parameter_count"]
    failed = [each for each in found.followed if by_case[each.case[1]] == 300]
    assert len(failed) == 3
    assert [each.slower for each in failed] == pytest.approx([4, 4, 4])
    assert {(each.words, each.is_within, each.beats) for each in failed} == {("intra_op_threads = 4", False, 0)}


def test_dynamic_cases_are_no_part_of_the_grid_that_rules_are_of(matrix: Matrix) -> None:
    def times(threads: str | None, intra_op_threads: int | None, **others: Any) -> list[float] | None:
        if threads and intra_op_threads:
            return None
        time_s = 0.01 if threads else four_is_best(intra_op_threads=intra_op_threads, **others)
        return [time_s * factor for factor in (0.999, 1.0, 1.001)]

    found = transfer(matrix(times, **{**AXES, "threads": [None, "dynamic"]}).cases)
    assert found is not None
    assert found.beats.estimate == 1


def test_what_nobody_has_set_is_part_of_the_grid_of_the_others(matrix: Matrix) -> None:
    """As the planner fills the column `threads`."""

    def times(threads: str, intra_op_threads: int | None, **others: Any) -> list[float] | None:
        if (threads == "none") != (intra_op_threads is None):
            return None
        return [(intra_op_threads or 0.5) * factor for factor in (0.999, 1.0, 1.001)]

    found = transfer(matrix(times, **{**AXES, "threads": ["none", "fixed"]}).cases)
    assert found is not None
    assert {each.words for each in found.followed} == {"intra_op_threads unset (the framework's default)"}
    assert found.beats.estimate == 1


def test_one_network_has_no_other_to_mine_on(matrix: Matrix) -> None:
    assert transfer(matrix(steady(four_is_best), **{**AXES, "parameter_count": [100]}).cases) is None


def test_a_rule_of_which_noise_lets_one_say_little_is_followed_and_what_is_unclear_is_told(matrix: Matrix) -> None:
    """One thread is surely slow; which other count is best depends on the batch, by less than runs vary."""

    def times(batch_size: int, intra_op_threads: int, **_: Any) -> list[float]:
        seconds = 2.0 if intra_op_threads == 1 else 1.0 if intra_op_threads == 2 * batch_size else 1.05
        return [seconds * factor for factor in (0.9, 1.0, 1.1)]

    cases = matrix(times, **{**AXES, "intra_op_threads": [1, 2, 4, 8]}).cases
    assert mine(cases, THREAD_COUNTS) == []
    found = transfer(cases)
    assert found is not None
    assert found.within == wilson(9, 9)
    assert sum(each.is_unclear for each in found.followed) == 6


def test_where_no_rule_holds_none_is_tested(matrix: Matrix) -> None:
    def seconds(batch_size: int, intra_op_threads: int | None, **_: Any) -> float:
        return 1.0 if (intra_op_threads or 3) == {1: 1, 2: 2, 4: 4}[batch_size] else 2.0

    assert transfer(matrix(steady(seconds), **AXES).cases) is None
