"""Very many cases by the values of their axes: every case is counted, and the quartiles are those of the cases."""

from __future__ import annotations

import numpy as np
import pytest

from hpcbench.analysis.cases.quantities import THROUGHPUT, TIME
from hpcbench.analysis.studies.aggregate import Aggregate, aggregates
from tests.report.made import repetitions_of, results


def told(aggregate: Aggregate, axis: str) -> dict[str, tuple[object, ...]]:
    """By value: cases, measured, incomplete, best, quartiles."""
    return {
        each.value: (each.cases, each.measured, each.incomplete, each.best, each.low, each.median, each.high)
        for each in aggregate.levels
        if each.axis == axis
    }


def test_each_value_of_an_axis_has_its_number_of_cases_and_their_quartiles() -> None:
    times = {(threads, batch): batch / threads for threads in (1, 2) for batch in (1, 2, 3, 4, 5)}
    cases = [
        repetitions_of(place, time, noise=[1.0], intra_op_threads=threads, batch_size=batch)
        for place, ((threads, batch), time) in enumerate(times.items())
    ]
    (found,) = aggregates(results(*cases, quantity=TIME))
    assert found.work is not None
    assert found.cases == 10
    # 1, 2, 3, 4, 5 seconds: the quartiles of Hyndman and Fan (1996), definition 7.
    assert told(found, "intra_op_threads") == {
        "1": (5, 5, 0, 1.0, 2.0, 3.0, 4.0),
        "2": (5, 5, 0, 0.5, 1.0, 1.5, 2.0),
    }
    assert list(told(found, "batch_size")) == ["1", "2", "3", "4", "5"]


def test_the_best_is_the_most_of_what_is_better_for_being_more() -> None:
    cases = [repetitions_of(place, time, noise=[1.0], nodes=place % 2 + 1) for place, time in enumerate([1, 2, 4, 8])]
    (found,) = aggregates(results(*cases, quantity=THROUGHPUT))
    assert [values[3] for values in told(found, "nodes").values()] == [32.0, 16.0]


def test_an_axis_of_very_many_values_is_told_by_ranges_that_hold_them_all() -> None:
    cases = [repetitions_of(number, 0.1, noise=[1.0], batch_size=number + 1) for number in range(40)]
    (found,) = aggregates(results(*cases))
    values = told(found, "batch_size")
    assert next(iter(values)) == "1 to 5"
    assert list(values)[-1] == "36 to 40"
    assert sum(int(str(each[0])) for each in values.values()) == 40


def test_what_failed_counts_with_the_one_kind_of_work_that_was_planned_like_it() -> None:
    cases = [
        repetitions_of(0, 0.1, model="mlp", nodes=1),
        repetitions_of(1, 0.1, model="lstm", nodes=1),
        repetitions_of(2, 0.1, model="lstm", status="failed", nodes=2),
    ]
    mlp, lstm = aggregates(results(*cases))
    assert (mlp.cases, lstm.cases) == (1, 2)
    assert told(lstm, "nodes") == {
        "1": (1, 1, 0, *[pytest.approx(320)] * 4),
        "2": (1, 0, 1, None, None, None, None),
    }
    assert mlp.levels == (), "nothing tells one case apart"


def test_what_failed_of_no_kind_or_of_several_is_told_apart() -> None:
    cases = [
        repetitions_of(0, 0.1, parameter_count=1, framework="jax"),
        repetitions_of(1, 0.1, parameter_count=2),
        repetitions_of(2, 0.1, status="failed"),
        repetitions_of(3, 0.1, status="timeout", model="vgg16"),
    ]
    *measured, unknown = aggregates(results(*cases))
    assert [each.cases for each in measured] == [1, 1]
    assert unknown.work is None
    assert told(unknown, "model") == {"mlp": (1, 0, 1, *[None] * 4), "vgg16": (1, 0, 1, *[None] * 4)}


def test_commands_are_of_one_kind_whatever_they_did() -> None:
    """A case of which one run failed is measured, and incomplete."""
    bare = {"framework": "command", **dict.fromkeys(("model", "task", "dtype", "parameter_count", "items_per_step"))}
    broken = repetitions_of(0, 0.2, status="failed", command="a", **bare)
    cases = [
        [*repetitions_of(0, 0.2, command="a", **bare), {**broken[0], "run": 9}],
        repetitions_of(1, 0.4, command="b", **bare),
        repetitions_of(2, 0.4, command="c", status="failed", **bare),
    ]
    (found,) = aggregates(results(*cases, quantity=TIME))
    assert [values[:3] for values in told(found, "command").values()] == [(1, 1, 1), (1, 1, 0), (1, 0, 1)]


def test_a_value_that_is_no_number_is_no_measurement() -> None:
    found = results(*(repetitions_of(place, 0.1, noise=[1.0], nodes=1 + place % 2) for place in range(4)))
    found.cases.loc[0, THROUGHPUT.column] = np.inf
    found.cases.loc[1, THROUGHPUT.column] = np.nan
    (aggregate,) = aggregates(found)
    assert sum(level.measured for level in aggregate.levels) == 2


def test_a_parameter_that_is_not_set_is_a_value_too() -> None:
    cases = [repetitions_of(place, 0.1, environment=[None, "a"][place % 2]) for place in range(4)]
    (found,) = aggregates(results(*cases))
    assert {value: counts[0] for value, counts in told(found, "environment").items()} == {"unset": 2, "a": 2}


def test_each_value_has_its_own_cases_in_whatever_order_they_come() -> None:
    """Texts, in the order of the ranking: the fastest case first."""
    times = {"b": (0.4, 0.1), "a": (0.2, 0.8), "c": (0.16,)}
    pairs = [(name, time) for place in range(2) for name, each in times.items() for time in each[place : place + 1]]
    cases = [repetitions_of(place, time, environment=name) for place, (name, time) in enumerate(pairs)]
    (found,) = aggregates(results(*cases))
    best = {"b": pytest.approx(320), "c": pytest.approx(200), "a": pytest.approx(160)}
    assert {value: each[3] for value, each in told(found, "environment").items()} == best
    assert [each[0] for each in told(found, "environment").values()] == [2, 1, 2]
