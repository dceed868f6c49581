"""The Pareto front, by hand and against its definition, and what noise leaves open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.analysis.cases.pareto import front, marks, pareto
from tests.workload_columns import WORKLOAD

NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[1, 5], [2, 3], [3, 4], [4, 1], [5, 1]], [1, 1, 0, 1, 0]),  # (3, 4) behind (2, 3), (5, 1) behind (4, 1)
        ([[2, 2], [2, 2], [2, 3], [1, 9]], [1, 1, 0, 1]),  # ties are kept
        ([[1, 2, 3], [3, 1, 2], [2, 3, 1], [2, 2, 3], [3, 3, 3]], [1, 1, 1, 0, 0]),
        ([[1, NAN], [2, 2], [3, 3], [NAN, 0]], [0, 1, 0, 0]),  # the unknown neither is nor beats
        ([[3], [1], [1]], [0, 1, 1]),
    ],
)
def test_the_front_is_what_nothing_else_dominates(values: list[list[float]], expected: list[int]) -> None:
    assert front(np.array(values, dtype=float)).tolist() == [bool(each) for each in expected]


def test_the_front_of_nothing_is_empty() -> None:
    assert front(np.empty((0, 3))).tolist() == []
    assert front(np.full((2, 2), NAN)).tolist() == [False, False]


VALUES = st.one_of(st.integers(0, 4).map(float), st.just(NAN))


@given(st.lists(st.tuples(VALUES, VALUES, VALUES), max_size=25))
def test_the_front_is_as_it_is_defined(rows: list[tuple[float, ...]]) -> None:
    values = np.array(rows, dtype=float).reshape(-1, 3)
    known = ~np.isnan(values).any(axis=1)

    def dominated(row: int) -> bool:
        return any((values[other] <= values[row]).all() and (values[other] < values[row]).any() for other in others)

    others = np.flatnonzero(known)
    assert front(values).tolist() == [bool(known[row]) and not dominated(row) for row in range(len(values))]


def marked(values: list[list[float]], spread: list[float]) -> list[str | None]:
    """Of cases with intervals that reach so far to either side."""
    found, half = np.array(values, dtype=float), np.array(spread)[:, None]
    return marks(found, found - half, found + half)


def test_what_is_dominated_only_within_noise_may_be_on_the_front() -> None:
    values = [[1.0, 1.0], [2.0, 2.0], [1.5, 1.5], [9.0, 1.1]]
    assert marked(values, [0.1] * 4) == ["front", "dominated", "dominated", "maybe"]  # in the second, 1.1 overlaps 1.0
    assert marked(values, [0.6] * 4) == ["front", "maybe", "maybe", "maybe"]
    assert marked(values, [0.0] * 4) == ["front", "dominated", "dominated", "dominated"]


def test_another_than_the_nearest_may_be_the_one_that_dominates_for_sure() -> None:
    """The best one is wide; a worse one that is narrow still beats the last."""
    assert marked([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], [5.0, 0.1, 0.1]) == ["front", "maybe", "dominated"]


def test_no_case_dominates_itself() -> None:
    values, highs = np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([[5.0, 5.0], [2.0, 2.0]])
    assert marks(values, values, highs) == ["front", "maybe"]


def test_without_limits_nothing_is_sure() -> None:
    assert marked([[1.0, 1.0], [2.0, 2.0], [NAN, 1.0]], [NAN, NAN, 0.0]) == ["front", "maybe", None]


def case(time_s: float, kwh: float = NAN, price: float = NAN, **changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"framework": "pytorch", "task": "training", "experiment": "study", "held_out": 0.2}
    made |= WORKLOAD | dict.fromkeys(
        ("model", "model_options", "parameter_count", "flops_per_item", "dtype", "math_mode", "data"), "same"
    )
    made |= {
        "user_workload": None,
        "items_per_step": 10,
        "currency": "EUR",
        "energy_scope": "cpu",
    }
    for name, value in (("energy_kwh_per_million_items", kwh), ("price_per_million_items", price)):
        made |= {name: value, f"{name}_ci_low": value, f"{name}_ci_high": value}
    for name in ("energy_kwh_per_run", "price_per_run"):
        made |= dict.fromkeys((name, f"{name}_ci_low", f"{name}_ci_high"), NAN)
    return {**made, **dict.fromkeys(("time_median_s", "time_ci_low_s", "time_ci_high_s"), time_s), **changes}


def fronts(*cases: dict[str, Any]) -> list[tuple[Any, Any]]:
    found = pareto(pd.DataFrame(cases))
    return list(zip(found["pareto"], found["pareto_of"], strict=True))


def test_the_three_quantities_are_held_against_each_other() -> None:
    of = "time+energy+cost"
    found = fronts(case(1.0, 3.0, 2.0), case(2.0, 1.0, 2.0), case(2.0, 3.0, 2.0))
    assert found == [("front", of), ("front", of), ("dominated", of)]


def test_time_is_that_of_an_item() -> None:
    """A step of ten times the items may take twice as long and is the faster one."""
    large, small = fronts(case(2.0, price=1.0, items_per_step=100), case(1.0, price=2.0))
    assert (large, small) == (("front", "time+cost"), ("dominated", "time+cost"))


def test_one_quantity_alone_is_no_front() -> None:
    assert fronts(case(1.0), case(2.0)) == [(None, None)] * 2


def test_other_work_other_money_and_other_meters_are_not_held_against_each_other() -> None:
    for changes in ({"model": "other"}, {"currency": "USD"}, {"energy_scope": "node"}):
        assert [word for word, _ in fronts(case(1.0, 1.0, 1.0), case(2.0, 2.0, 2.0, **changes))] == ["front"] * 2
    with_gpu = case(2.0, 2.0, 2.0, energy_scope="cpu+gpu")
    assert [word for word, _ in fronts(case(1.0, 1.0, 1.0), with_gpu)] == ["front", "dominated"]


def test_a_case_that_lacks_what_the_others_have_is_left_out() -> None:
    assert [word for word, _ in fronts(case(2.0, 1.0, 1.0), case(1.0, NAN, 1.0, energy_scope=None))] == ["front", None]


def test_cases_of_which_none_has_all_that_any_has_are_left_out() -> None:
    assert fronts(case(1.0, NAN, 1.0, energy_scope=None), case(2.0, 1.0, NAN, currency=None)) == [(None, None)] * 2
    assert pareto(pd.DataFrame([case(1.0, 1.0, 1.0)]).head(0)).empty


def test_commands_are_held_against_each_other_by_the_run() -> None:
    runs = {"framework": "command", "items_per_step": NAN}
    prices = [
        dict.fromkeys(("price_per_run", "price_per_run_ci_low", "price_per_run_ci_high"), each) for each in (1, 2)
    ]
    found = fronts(case(5.0, **runs, **prices[0]), case(6.0, **runs, **prices[1]))
    assert found == [("front", "time+cost"), ("dominated", "time+cost")]
