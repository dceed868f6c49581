"""The conditions of `accept`: texts, units, and what is said to mistakes."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.config.experiment import Experiment, load_experiment
from hpcbench.config.validation.acceptance import Condition
from hpcbench.config.yaml_document import Document
from hpcbench.errors import UserError

RATE = {"regex": "rate: ([0-9.]+)", "unit": "it/s"}


def loaded(**sections: Any) -> Experiment:
    data = {"name": "trial", "parameters": {"framework": "command", "command": "./bench"}, **sections}
    return load_experiment(Document("trial.yaml", data, {}, ""))


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        (">= 0.93", Condition(">=", 0.93)),
        (">.5", Condition(">", 0.5)),
        ("<=5ms", Condition("<=", 5, "ms")),
        (" < -1e-3 k samples/s ", Condition("<", -0.001, "k samples/s")),
        ("<= 2 GiB", Condition("<=", 2, "GiB")),
    ],
)
def test_a_condition_is_read_and_written(text: str, condition: Condition) -> None:
    assert Condition.of(text) == condition
    assert Condition.of(str(condition)) == condition


@pytest.mark.parametrize("text", ["", "0.93", ">=", ">= x", "=> 1", ">= 1,5", ">= 1 < 2", ">= 1e999", ">= nan", ">> 1"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="OPERATOR NUMBER"):
        Condition.of(text)


@pytest.mark.parametrize("text", ["== 1", "= 1", "!= 1"])
def test_numbers_are_not_compared_for_equality(text: str) -> None:
    with pytest.raises(ValueError, match="write a range"):
        Condition.of(text)


@pytest.mark.parametrize(
    ("text", "unit", "threshold"),
    [("<= 5 ms", "s", 0.005), ("<= 5", "s", 5), ("<= 2 GiB", "B", 2**31), (">= 1 kit/s", "it/s", 1000)],
)
def test_the_threshold_has_the_unit_of_the_quantity(text: str, unit: str, threshold: float) -> None:
    assert Condition.of(text).threshold(unit) == pytest.approx(threshold)


@pytest.mark.parametrize(
    ("text", "unit", "said"),
    [("<= 5 MB", "s", "cannot be converted"), (">= 3 s/it", "it/s", "is the inverse"), (">= 93 %", "", "without '%'")],
)
def test_a_unit_of_another_quantity_is_refused(text: str, unit: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Condition.of(text).threshold(unit)


def test_each_operator_is_strict_or_not() -> None:
    held = {text: [Condition.of(f"{text} 2").holds(value, 2) for value in (1, 2, 3)] for text in (">=", ">", "<=", "<")}
    assert held == {
        ">=": [False, True, True],
        ">": [False, False, True],
        "<=": [True, True, False],
        "<": [True, False, False],
    }


def test_one_condition_is_a_list_of_one() -> None:
    assert loaded(accept={"loss": "< 2", "rate": ["> 1", "< 9"]}).accept == {"loss": ["< 2"], "rate": ["> 1", "< 9"]}


@pytest.mark.parametrize(
    ("accept", "said"),
    [
        ({"rate": 0.9}, "the number has no operator"),
        ({"rate": []}, "the list has no condition"),
        ({"rate": ["> 1", "1"]}, "expected OPERATOR NUMBER"),
        ({"rate": "> 1 MB"}, "'> 1 MB' does not fit 'rate'"),
        ({"rte": "> 1"}, "unknown metric 'rte'"),
    ],
)
def test_mistakes_are_located(accept: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as caught:
        loaded(accept=accept, metrics={"rate": RATE})
    assert said in str(caught.value)
    assert f"accept.{next(iter(accept))}" in caught.value.where
