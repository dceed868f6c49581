"""The parameters of an operator: what fits together, and which cases are equal."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from hpcbench.config.experiment import load_experiment
from hpcbench.config.parameters import Parameters
from hpcbench.config.site import load_site
from hpcbench.config.workload.operator_parameters import applies
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.core.frameworks import ONLY_INFER, TRAINING_FRAMEWORKS
from hpcbench.plan.case import case_id
from hpcbench.plan.plan import Plan, make_plan

GEMM = {"framework": "pytorch", "task": "operator", "operator": "gemm"}
OWN = {"operator": {"python": "axpy.py"}}
START = "name: study\nparameters:\n  framework: pytorch\n  task: operator\n  operator: gemm\n"
SITE = "name: cluster\nscheduler: slurm\nenvironments:\n  pytorch: {}\n"


def parameters(**changes: Any) -> Parameters:
    given = {name: value for name, value in {**GEMM, **changes}.items() if value is not None}
    return Parameters.model_validate(given)


def plan(text: str) -> Plan:
    document = parse_yaml(START + text, "study.yaml")
    return make_plan(load_experiment(document), document, load_site(parse_yaml(SITE, "site.yaml")), None)


def identity(**changes: Any) -> str:
    return case_id(parameters(**changes), {})


def test_a_training_with_data_can_validate_them() -> None:
    given = {"framework": "pytorch", "model": "mlp", "data": {"npz": "digits.npz"}}
    assert Parameters.model_validate({**given, "validate": True}).planned()["validate"] is True
    assert Parameters.model_validate(given).planned()["validate"] is False
    learning = {**given, "task": "time_to_accuracy", "target_accuracy": 0.9}
    assert Parameters.model_validate({**learning, "validate": True}).planned()["validate"] is True
    with pytest.raises(ValidationError, match="'validate' cannot be used with task: input_pipeline"):
        Parameters.model_validate({**given, "task": "input_pipeline", "validate": True})


@pytest.mark.parametrize("framework", TRAINING_FRAMEWORKS)
def test_each_framework_that_trains_has_operators(framework: str) -> None:
    planned = parameters(framework=framework, sizes={"m": 5}, phase="both", validate=True).planned()
    expected = {"task": "operator", "operator": "gemm", "phase": "both", "sizes": {"m": 5}, "validate": True}
    assert {name: planned[name] for name in expected} == expected
    absent = ("model", "model_options", "batch_size", "optimizer", "data", "target_accuracy")
    assert [planned[name] for name in absent] == [None] * len(absent)


def test_a_network_has_no_parameters_of_operators() -> None:
    planned = Parameters.model_validate({"framework": "pytorch", "model": "mlp"}).planned()
    assert [planned[name] for name in ("operator", "phase", "sizes")] == [None] * 3
    assert planned["validate"] is False


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"operator": None}, "'operator' is missing: task: operator requires one of conv2d, gemm, "),
        ({"operator": "gem"}, "unknown operator 'gem'; did you mean 'gemm'?"),
        ({"operator": "conv3d"}, "unknown operator 'conv3d'; did you mean 'conv2d'?"),
        ({"operator": "axpy.py"}, "unknown operator 'axpy.py'; did you mean operator: {python: axpy.py}?"),
        ({"operator": {"file": "axpy.py"}}, "'operator' must be a name or a Python file, e.g. operator: {python: axp"),
        ({"operator": {"python": "ops/axpy"}}, "'ops/axpy' is not a Python file; the name must end with .py"),
        ({"operator": "python:axpy.cpp"}, "'axpy.cpp' is not a Python file"),
        ({"operator": "python: "}, "invalid operator 'python: '; use python:FILE"),
        ({**OWN, "framework": "jax"}, "'python:axpy.py' requires framework: pytorch, not jax"),
        (
            {**OWN, "sizes": {"m": [1]}},
            "the size 'm' must be an argument of `inputs` with a number, text, true or false",
        ),
        ({**OWN, "sizes": {"a-b": 1}}, "the size 'a-b' must be an argument of `inputs`"),
        ({"sizes": {"q": 1}}, "the operator gemm has no size 'q'; it has: m, n, k, a_trans, b_trans"),
        ({"sizes": {"m": "large"}}, "the size 'm' of gemm must be an integer from 1 to 1000000000, not 'large'"),
        ({"sizes": {"m": 0}}, "the size 'm' of gemm must be an integer from 1 to 1000000000, not 0"),
        (
            {"operator": "conv2d", "sizes": {"h": 1, "pad_h": 0}},
            "conv2d: the image of 1 x 56 is smaller than the filter",
        ),
        (
            {"operator": "relu", "phase": "backward_weights"},
            "the operator relu has no phase backward_weights; use one of: forward, backward_inputs, both",
        ),
        ({"phase": "backward"}, "'forward', 'backward_inputs', 'backward_weights' or 'both'"),
        ({"operator": "all_reduce"}, "the operator all_reduce requires several tasks; set tasks_per_node or nodes"),
        (
            {"operator": "all_reduce", "tasks_per_node": 2, "framework": "jax"},
            "the operator all_reduce requires framework: pytorch, not jax",
        ),
        (
            {"operator": "all_reduce", "tasks_per_node": 2, "execution": "compiled"},
            "operator: all_reduce cannot be used with execution: compiled; use execution: eager",
        ),
        ({"tasks_per_node": 2}, "the strategy single allows one task, not 2"),
        ({"batch_size": 32}, "'batch_size' cannot be used with task: operator; use sizes"),
        ({"model": "mlp"}, "'model' cannot be used with task: operator"),
        ({"model_options": {"hidden_size": 8}}, "'model_options' cannot be used with task: operator"),
        ({"optimizer": "adam"}, "'optimizer' cannot be used with task: operator"),
        ({"strategy": "ddp"}, "strategy: ddp cannot be used with task: operator"),
        ({"threads": "dynamic"}, "threads: dynamic requires task inference or training, not operator"),
        ({"task": "inference", "model": "mlp"}, "'operator' requires task: operator, not inference"),
        ({"task": "training", "model": "mlp", "operator": None, "phase": "both"}, "'phase' requires task: operator"),
        ({"task": "training", "model": "mlp", "operator": None, "sizes": {"m": 1}}, "'sizes' requires task: operator"),
        (
            {"framework": "command", "command": "true", "task": None},
            "'operator' cannot be used with framework: command",
        ),
        *(({"framework": name}, f"task: operator cannot be used with framework: {name}") for name in ONLY_INFER),
    ],
)
def test_what_does_not_fit_together_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as error:
        parameters(**changes)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"sizes": {}},
        {"sizes": {"m": 1024, "a_trans": False}},
        {"phase": "forward"},
        {"validate": True},
        {"seed": 0, "strategy": "single"},
    ],
)
def test_equal_operators_are_the_same_case_in_plans_too(changes: dict[str, Any]) -> None:
    assert identity(**changes) == identity()
    assert parameters(**changes).planned()["sizes"] == {}


@pytest.mark.parametrize(
    "changes", [{"sizes": {"m": 5}}, {"phase": "both"}, {"operator": "bmm"}, {"dtype": "bfloat16"}]
)
def test_what_differs_is_another_case(changes: dict[str, Any]) -> None:
    assert identity(**changes) != identity()


def test_an_operator_of_the_user_has_the_sizes_and_phases_of_its_file() -> None:
    planned = parameters(**OWN, sizes={"rows": 3, "mode": "fast"}, phase="both").planned()
    assert (planned["operator"], planned["sizes"]) == ("python:axpy.py", {"rows": 3, "mode": "fast"})
    assert identity(operator="python:axpy.py") == identity(**OWN) != identity(operator={"python": "other.py"})


def test_a_collective_operator_has_several_tasks() -> None:
    assert parameters(operator="all_reduce", tasks_per_node=2, nodes=3).tasks == 6


def test_parameters_apply_to_tasks_that_they_change() -> None:
    network = {"framework": "pytorch", "model": "mlp"}
    reaching = {"task": "time_to_accuracy", "target_accuracy": 0.9, "data": {"npz": "d.npz"}}
    given = [GEMM, *({**network, **each} for each in ({"task": "backward"}, {"task": "training"}, reaching))]
    tasks = [Parameters.model_validate(each) for each in given]
    assert [applies("optimizer", each) for each in tasks] == [False, False, True, True]
    assert [applies("max_epochs", each) for each in tasks] == [False, False, False, True]
    assert [applies("sizes", each) for each in tasks] == [True, False, False, False]
    assert [applies("batch_size", each) for each in tasks] == [False, True, True, True]
    assert all(applies("nodes", each) for each in tasks)


def test_the_order_of_sizes_does_not_matter() -> None:
    assert identity(sizes={"m": 5, "n": 6}) == identity(sizes={"n": 6, "k": 1024, "m": 5})


def test_operators_phases_and_their_sizes_are_axes() -> None:
    made = plan("  sizes: {n: 8}\nmatrix: {sizes.m: [16, 1024], phase: [forward, both]}")
    found = [(case.parameters.planned()["sizes"], case.parameters.phase) for case in made.cases]
    sizes = [{"n": 8, "m": 16}, {"n": 8, "m": 16}, {"n": 8}, {"n": 8}]
    assert found == list(zip(sizes, ["forward", "both"] * 2, strict=True))
    assert len({case.id for case in made.cases}) == 4
    operators = plan("matrix: {operator: [gemm, conv2d, softmax]}")
    assert [case.parameters.operator for case in operators.cases] == ["gemm", "conv2d", "softmax"]


def test_groups_zip_operators_with_their_sizes() -> None:
    made = plan("zip: [{operator: [gemm, softmax], sizes: [{m: 7}, {rows: 7}]}]")
    assert [case.parameters.sizes for case in made.cases] == [{"m": 7}, {"rows": 7}]
