"""Dotted names of parameters in every part of an experiment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.errors import UserError
from hpcbench.plan.plan import Plan

MakePlan = Callable[..., Plan]
ALL = [("adam", 0.1), ("adam", 0.2), ("momentum", 0.1), ("momentum", 0.2)]


def optimizers(plan: Plan) -> list[dict[str, Any]]:
    return [case.parameters.content().get("optimizer", {}) for case in plan.cases]


def rates(plan: Plan) -> list[Any]:
    return [case.parameters.optimizer.learning_rate for case in plan.cases]


def test_a_key_of_a_mapping_is_an_axis(plan: MakePlan) -> None:
    made = plan("  optimizer: {name: adam, eps: 0.1}\nmatrix: {optimizer.learning_rate: [0.1, 0.2]}")
    assert optimizers(made) == [{"name": "adam", "eps": 0.1, "learning_rate": rate} for rate in (0.1, 0.2)]


def test_an_axis_of_whole_mappings_keeps_the_key_of_another_axis(plan: MakePlan) -> None:
    made = plan("  optimizer.learning_rate: 0.5\nmatrix: {optimizer: [sgd, {name: adam, eps: 0.1}]}")
    assert optimizers(made) == [
        {"name": "sgd", "learning_rate": 0.5},
        {"name": "adam", "learning_rate": 0.5, "eps": 0.1},
    ]


def test_groups_included_points_and_settings_have_dotted_names(plan: MakePlan) -> None:
    zipped = plan("zip: [{optimizer.name: [sgd, adam], optimizer.learning_rate: [0.1, 0.2]}]")
    assert [each["name"] for each in optimizers(zipped)] == ["sgd", "adam"]
    assert rates(zipped) == [0.1, 0.2]
    included = "matrix: {nodes: [1]}\ninclude: [{optimizer.learning_rate: [0.3, 0.4], optimizer: adam}]"
    assert rates(plan(included)) == [0.01, 0.3, 0.4]
    assert rates(plan(included, "optimizer.learning_rate=0.7")) == [0.7, 0.7]
    assert rates(plan("matrix: {optimizer.learning_rate: [0.3, 0.4]}", "optimizer.learning_rate=0.7")) == [0.7]
    assert optimizers(plan("  optimizer: adam", "optimizer.eps=0.5")) == [{"name": "adam", "eps": 0.5}]


def test_an_error_of_a_key_is_located_where_the_key_is_written(plan: MakePlan) -> None:
    gemm = "  task: operator\n  operator: gemm\n  sizes.m: 4\n"
    for setting, where in (("sizes.q=5", "--set sizes.q"), ("operator=lstm_cell", "study.yaml:")):
        with pytest.raises(UserError, match="has no size") as caught:
            plan(gemm, "model=null", setting)
        assert caught.value.where.startswith(where)


@pytest.mark.parametrize(
    ("setting", "what"),
    [
        ("validate=maybe", "'maybe' is not valid: should be true or false"),
        ("max_epochs=null", "null is not valid: should be a valid integer"),
    ],
)
def test_errors_have_the_words_of_yaml(plan: MakePlan, setting: str, what: str) -> None:
    with pytest.raises(UserError) as caught:
        plan("", setting)
    assert caught.value.what == what


def test_the_options_of_a_model_are_axes(plan: MakePlan) -> None:
    made = plan("  model_options: {layers: 2}\nmatrix: {model_options.hidden_size: [8, 16]}")
    sizes = [case.parameters.model_options for case in made.cases]
    assert sizes == [{"layers": 2, "hidden_size": 8}, {"layers": 2, "hidden_size": 16}]


@pytest.mark.parametrize(
    ("exclude", "kept"),
    [
        ("{optimizer.learning_rate: 0.1}", [("adam", 0.2), ("momentum", 0.2)]),
        (
            "{optimizer: adam, optimizer.learning_rate: [0.1, 0.7]}",
            [("adam", 0.2), ("momentum", 0.1), ("momentum", 0.2)],
        ),
        ("{optimizer: [adam, sgd]}", [("momentum", 0.1), ("momentum", 0.2)]),
        (
            "{optimizer: {name: adam, learning_rate: {peak: 0.1}}}",
            [("adam", 0.2), ("momentum", 0.1), ("momentum", 0.2)],
        ),
        ("{optimizer: {name: adam, betas: [0.9, 0.95]}, nodes: 1}", ALL),
        ("{optimizer.learning_rate: {peak: 0.1}}", [("adam", 0.2), ("momentum", 0.2)]),
        ("{optimizer.momentum: 0.9}", [("adam", 0.1), ("adam", 0.2)]),
        ("{optimizer.betas: [0.9, 0.999]}", [("momentum", 0.1), ("momentum", 0.2)]),
        ("{model_options.layers: 2, optimizer.learning_rate: 0.1}", [("adam", 0.2), ("momentum", 0.2)]),
        ("'{{ optimizer.learning_rate < 0.15 }}'", [("adam", 0.2), ("momentum", 0.2)]),
        ("\"{{ optimizer.name == 'adam' }}\"", [("momentum", 0.1), ("momentum", 0.2)]),
    ],
)
def test_conditions_match_dotted_names_and_defaults(
    plan: MakePlan, exclude: str, kept: list[tuple[str, float]]
) -> None:
    axes = "matrix: {optimizer: [adam, momentum], optimizer.learning_rate: [0.1, 0.2]}"
    made = plan(f"{axes}\nexclude: [{exclude}]", "model=mlp")
    assert [(case.parameters.optimizer.name, case.parameters.optimizer.learning_rate) for case in made.cases] == kept


def test_an_expression_is_the_value_of_a_dotted_name(plan: MakePlan) -> None:
    made = plan("  optimizer.learning_rate: '{{ batch_size / 1000 }}'\nmatrix: {batch_size: [10, 20]}")
    assert rates(made) == [0.01, 0.02]


@pytest.mark.parametrize(
    ("text", "what", "where", "hint"),
    [
        ("matrix: {optimizer.learning_rate: [-1]}", "-1 is not valid: should be greater than 0", "matrix", ""),
        (
            "matrix: {optimizer.learning_rate.schedule: [cosine]}",
            "'optimizer.learning_rate.peak' is missing",
            "matrix",
            "",
        ),
        ("matrix: {optimizer.betas: [[0.1]]}", "[0.1] is not valid: requires at least 2 values", "matrix", ""),
        ("matrix: {optimizer.betas: [[0.1, 0.2]]}", "'betas' is not an option of the optimizer momentum", "matrix", ""),
        ("matrix: {optimizer.lr: [1]}", "unknown parameter 'optimizer.lr'", "matrix", "optimizer.learning_rate"),
        ("matrix: {optimizer: [{lr: 1}]}", "unknown key 'lr'", "matrix.optimizer", "did you mean 'learning_rate'?"),
        ("  learning_rate: 1", "unknown parameter 'learning_rate'", "parameters", "'optimizer.learning_rate'"),
        ("  optimizer.learning_rate.peak: 1\n  optimizer.learning_rate: 2", "not a mapping", "parameters", ""),
    ],
)
def test_errors_name_the_dotted_name(plan: MakePlan, text: str, what: str, where: str, hint: str) -> None:
    with pytest.raises(UserError) as error:
        plan(text)
    assert what in error.value.what
    assert where in error.value.where
    assert hint in error.value.hint
