"""The optimizer of a case: defaults, short form, and options that do not fit together."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from hpcbench.config.parameters import Parameters
from hpcbench.models.optimizers import OPTIMIZERS, in_short, name_in, optimizer_of
from hpcbench.plan.case import case_id

DECAY = {"schedule": "steps", "peak": 0.1, "milestones": [[10, 0.01], [20, 0.001]]}


def parameters(optimizer: Any = None, **others: Any) -> Parameters:
    given = others if optimizer is None else {"optimizer": optimizer, **others}
    return Parameters.model_validate({"framework": "pytorch", "model": "mlp", **given})


def planned(optimizer: Any = None) -> dict[str, Any]:
    found: dict[str, Any] = parameters(optimizer).planned()["optimizer"]
    return found


def test_unset_is_sgd_with_momentum_which_is_no_part_of_the_id_of_a_case() -> None:
    expected = {"name": "momentum", "learning_rate": 0.01, "momentum": 0.9, "weight_decay": 0.0}
    assert planned() == planned("momentum") == {**expected, "gradient_accumulation_steps": 1}
    assert "optimizer" not in parameters("momentum").content()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_plan_has_all_options_of_an_optimizer_and_reads_them_again(name: str) -> None:
    found = planned(name)
    assert found["name"] == name
    assert set(OPTIMIZERS[name]) <= found.keys()
    assert planned(found) == found == planned({"name": name})
    assert optimizer_of(found) == optimizer_of({"name": name})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("adam", {"name": "adam", "betas": [0.9, 0.999], "learning_rate": 0.001}),
        ({"learning_rate": 0.1}, {"name": "momentum", "learning_rate": {"peak": 0.1}}),
        ({"learning_rate": 1}, {"learning_rate": 1.0}),
        (
            {"learning_rate": {"schedule": "cosine", "peak": 1, "total_steps": 9}},
            {"learning_rate": {"schedule": "cosine", "peak": 1.0, "total_steps": 9, "final": 0, "warmup_steps": 0}},
        ),
        ({"learning_rate": DECAY}, {"learning_rate": {**DECAY, "unit": "steps"}}),
        (None, {"momentum": 0.9}),
    ],
)
def test_equal_optimizers_are_the_same_case(one: Any, other: Any) -> None:
    assert case_id(parameters(one), {}) == case_id(parameters(other), {})


def test_the_id_of_a_case_depends_on_what_differs_from_the_defaults() -> None:
    assert parameters("adam").content()["optimizer"] == {"name": "adam"}
    assert parameters({"clip_norm": 1}).content()["optimizer"] == {"clip_norm": 1.0}
    assert parameters({"learning_rate": DECAY}).content()["optimizer"]["learning_rate"]["schedule"] == "steps"


@pytest.mark.parametrize(
    ("optimizer", "short"),
    [
        ("adam", "adam"),
        ({"learning_rate": 0.1}, "momentum(learning_rate=0.1)"),
        ({"name": "sgd", "clip_value": 2}, "sgd(clip_value=2.0)"),
        ({"name": "adam", "betas": [0.9, 0.95], "eps": 0.1}, "adam(betas=[0.9,0.95],eps=0.1)"),
        ({"learning_rate": DECAY}, "momentum(learning_rate=steps(peak=0.1,milestones=[[10,0.01],[20,0.001]]))"),
    ],
)
def test_an_optimizer_in_short(optimizer: Any, short: str) -> None:
    assert in_short(planned(optimizer)) == short
    assert name_in(short) == planned(optimizer)["name"]
    assert in_short(planned({"name": "adam", "learning_rate": 0.1}), "learning_rate") == "adam"


@pytest.mark.parametrize(
    ("optimizer", "message"),
    [
        ("adan", "Input should be 'sgd', 'momentum', "),
        (
            {"name": "sgd", "momentum": 0.9},
            "'momentum' is not an option of the optimizer sgd; use one of: learning_rate,",
        ),
        ({"betas": [0.9, 0.99]}, "'betas' is not an option of the optimizer momentum"),
        ({"name": "adam", "betas": [0.9]}, "at least 2 items"),
        ({"name": "adam", "betas": [0.9, 1]}, "less than 1"),
        ({"name": "adam", "eps": 0}, "greater than 0"),
        ({"learning_rate": 0}, "greater than 0"),
        ({"learning_rate": "0.1"}, "valid number"),
        ({"learning_rate": {}}, "Field required"),
        (
            {"learning_rate": {"peak": 0.1, "schedule": "cosine"}},
            "'total_steps' is missing: schedule: cosine requires it",
        ),
        ({"learning_rate": {"peak": 0.1, "schedule": "steps"}}, "'milestones' is missing: schedule: steps requires it"),
        ({"learning_rate": {"peak": 0.1, "final": 0.01}}, "'final' requires schedule: cosine, not constant"),
        ({"learning_rate": {**DECAY, "warmup_steps": 15}}, "ascending order of steps, from warmup_steps (15)"),
        ({"learning_rate": {**DECAY, "milestones": [[20, 0.1], [10, 0.1]]}}, "'milestones' must be in ascending order"),
        ({"learning_rate": {**DECAY, "milestones": [[20]]}}, "Field required"),
        (
            {"learning_rate": {"peak": 0.1, "schedule": "cosine", "total_steps": 5, "warmup_steps": 5}},
            "total_steps is 5, not more than warmup_steps, 5",
        ),
        ({"clip_norm": 1, "clip_value": 1}, "clip_norm cannot be used with clip_value"),
        ({"gradient_accumulation_steps": 0}, "greater than or equal to 1"),
        (5, "valid dictionary"),
    ],
)
def test_an_optimizer_that_does_not_fit_together_is_refused(optimizer: Any, message: str) -> None:
    with pytest.raises(ValidationError) as error:
        parameters(optimizer)
    assert message in str(error.value)


def test_a_learning_rate_over_epochs_requires_data() -> None:
    over_epochs = {"learning_rate": {**DECAY, "unit": "epochs"}}
    with pytest.raises(ValidationError, match="a learning rate with unit: epochs requires data; use unit: steps"):
        parameters(over_epochs)
    with_data = parameters(over_epochs, data={"npz": "digits.npz"})
    assert with_data.planned()["optimizer"]["learning_rate"]["unit"] == "epochs"
    assert parameters({"learning_rate": {**DECAY, "unit": "steps"}}).planned()


def test_a_command_has_no_optimizer() -> None:
    command = {"framework": "command", "command": "true"}
    assert Parameters.model_validate(command).planned()["optimizer"] is None
    with pytest.raises(ValidationError, match="'optimizer' cannot be used with framework: command"):
        Parameters.model_validate({**command, "optimizer": "adam"})
