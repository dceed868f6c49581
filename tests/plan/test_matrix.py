from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcbench.config.experiment import Experiment
from hpcbench.plan.matrix import count_points, points


def experiment(**sections: Any) -> Experiment:
    return Experiment.model_validate({"name": "study", **sections})


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        ({}, [{}]),
        (
            {"matrix": {"a": [1, 2], "b": [3, 4]}},
            [{"a": 1, "b": 3}, {"a": 1, "b": 4}, {"a": 2, "b": 3}, {"a": 2, "b": 4}],
        ),
        ({"zip": [{"a": [1, 2], "b": [3, 4]}]}, [{"a": 1, "b": 3}, {"a": 2, "b": 4}]),
        (
            {"zip": [{"a": [1, 2]}, {"b": [3, 4], "c": [5, 6]}]},
            [{"a": a, "b": b, "c": c} for a in (1, 2) for b, c in ((3, 5), (4, 6))],
        ),
        (
            {"matrix": {"m": [0, 9]}, "zip": [{"a": [1, 2], "b": [3, 4]}]},
            [{"m": m, "a": a, "b": b} for m in (0, 9) for a, b in ((1, 3), (2, 4))],
        ),
        ({"zip": [{"a": {"range": [1, 2]}, "b": [3, 4]}]}, [{"a": 1, "b": 3}, {"a": 2, "b": 4}]),
        ({"include": [{"a": 1}]}, [{"a": 1}]),
        ({"matrix": {"a": [1, 2]}, "include": [{"b": 3}]}, [{"a": 1}, {"a": 2}, {"b": 3}]),
        (
            {"include": [{"a": [1, 2], "b": [3, 4], "c": 5}]},
            [{"a": a, "b": b, "c": 5} for a in (1, 2) for b in (3, 4)],
        ),
    ],
    ids=["none", "product", "zip", "two zips", "product and zip", "range in a zip", "include", "both", "listed"],
)
def test_an_experiment_has_these_points_in_this_order(sections: dict[str, Any], expected: list[dict[str, int]]) -> None:
    made = experiment(**sections)
    assert [point.values for point in points(made)] == expected
    assert count_points(made) == len(expected)


AXES = st.dictionaries(st.sampled_from("abc"), st.lists(st.integers(), min_size=1, max_size=4), min_size=1)


@settings(derandomize=True, deadline=None)
@given(AXES, st.lists(st.dictionaries(st.sampled_from("xyz"), st.lists(st.integers(), min_size=1, max_size=3))))
def test_points_are_counted_without_being_made(matrix: dict[str, Any], include: list[dict[str, Any]]) -> None:
    made = experiment(matrix=matrix, include=include)
    assert count_points(made) == len(list(points(made)))


def test_a_huge_matrix_is_counted_at_once() -> None:
    axis = {"range": [1, 100_000]}
    assert count_points(experiment(matrix={"a": axis, "b": axis, "c": axis})) == 10**15
