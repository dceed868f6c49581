"""The validation of networks in every framework: outputs and gradients against the reference, without false alarms."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.core.frameworks import FRAMEWORKS, TRAINING_FRAMEWORKS
from hpcbench.core.validation.result import NOT_VALIDATED, PASSED
from hpcbench.node.worker.validation.update_check import STEPS

SEEDS = 2
INEXACT = {("mxnet", "backward")}  # the cross entropy, as in test_operators.py


@pytest.mark.parametrize("framework", TRAINING_FRAMEWORKS)
def test_no_correct_network_is_a_false_alarm(framework: str, ask: Any) -> None:
    models = "mlp,lstm,lstm_stack,transformer,gpt"
    words = ("validation_probe", framework, FRAMEWORKS[framework].executions[0], models, SEEDS)
    found = ask(*words, framework=framework)
    assert len(found) == 5 * 2 * SEEDS
    failed = [each for each in found if each[3] != PASSED]
    assert [each for each in failed if (framework, each[1]) not in INEXACT] == []


@pytest.mark.parametrize("framework", TRAINING_FRAMEWORKS)
def test_no_update_of_an_optimizer_is_a_false_alarm(framework: str, ask: Any) -> None:
    found = ask("update_probe", framework, FRAMEWORKS[framework].executions[0], framework=framework)
    assert len(found) == 4
    assert [each for each in found if each[1:3] != [STEPS, None] or not 0 < each[3] < 0.5] == []


def verdicts_of(model: str, framework: str, ask: Any) -> dict[str, tuple[str, str | None]]:
    """The verdict and its reason for a model with one seed, by task."""
    words = ("validation_probe", framework, FRAMEWORKS[framework].executions[0], model, 1)
    return {task: (verdict, reason) for _, task, _, verdict, reason, _ in ask(*words, framework=framework)}


@pytest.mark.long
@pytest.mark.parametrize("framework", TRAINING_FRAMEWORKS)
def test_convolutions_and_pooling_of_no_framework_are_a_false_alarm(framework: str, ask: Any) -> None:
    """In inference: in training, batches of this size have too large bounds."""
    verdicts = verdicts_of("resnet50", framework, ask)
    assert verdicts["inference"] == (PASSED, None)
    assert verdicts["backward"][0] == NOT_VALIDATED
    assert "too large to detect errors" in verdicts["backward"][1]


@pytest.mark.long
@pytest.mark.parametrize("framework", TRAINING_FRAMEWORKS)
def test_gradients_of_convolutions_of_no_framework_are_a_false_alarm(framework: str, ask: Any) -> None:
    """AlexNet has no batch normalization, so that its bounds are small enough in the backward pass."""
    verdicts = verdicts_of("alexnet", framework, ask)
    assert verdicts == dict.fromkeys(("inference", "backward"), (PASSED, None))
