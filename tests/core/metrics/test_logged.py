"""Metrics from logged values."""

from __future__ import annotations

import math

import pytest

from hpcbench.config.metrics import Metric
from hpcbench.core.metrics.logged import identifier, identifiers, measured, of_values

LOGGED = {"train_loss": [(1, 3.0), (2, 1.0), (3, 2.0)]}


def of(**options: object) -> dict[str, object]:
    return measured({"m": Metric.model_validate(options).model_dump()}, LOGGED)["m"]


@pytest.mark.parametrize(("reduce", "value"), [(None, 2.0), ("min", 1.0), ("mean", 2.0), ("first", 3.0)])
def test_logged_values_are_reduced_to_the_last_one_unless_the_metric_sets_reduce(
    reduce: str | None, value: float
) -> None:
    found = of(log="train/loss", reduce=reduce, better="lower")
    assert (found["value"], found["better"], found["steps"]) == (value, "lower", [1, 2, 3])


def test_a_missing_value_lists_the_logged_names() -> None:
    found = of(log="accuracy")
    assert found["value"] is None
    assert found["reason"] == "logged value 'accuracy' not found; the program logged: train_loss"


@pytest.mark.parametrize("values", [[math.inf, -math.inf], [1e308, 1e308], [math.nan, 1.0], [1.0, math.nan]])
def test_values_that_cannot_be_reduced_have_a_reason(values: list[float]) -> None:
    found = of_values(list(enumerate(values)), "", None, "sum")
    assert found["value"] is None
    assert found["reason"]


def test_equal_identifiers_are_numbered() -> None:
    assert identifiers(["a/b", "a_b", "损失", "精度"]) == {
        "a/b": "a_b",
        "a_b": "a_b_2",
        "损失": "value",
        "精度": "value_2",
    }


def test_other_metrics_are_left_to_the_output() -> None:
    assert measured({"m": Metric(regex="a(.)").model_dump()}, LOGGED) == {}


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("train/loss", "train_loss"),
        ("Top-1 Acc", "top_1_acc"),
        ("1", "value_1"),
        ("%", "value"),
        ("phase/data", "value_phase_data"),
    ],
)
def test_names_become_identifiers(name: str, plain: str) -> None:
    assert identifier(name) == plain
