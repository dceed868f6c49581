"""The task backward of every framework: the gradients of a training step, without the update of the weights."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.core.frameworks import EXCHANGE_IN_UPDATE, FRAMEWORKS, TRAINING_FRAMEWORKS

TOLERANCE = 1e-5  # of differences, relative to the largest gradient
SINGLE = [(framework, execution) for framework in TRAINING_FRAMEWORKS for execution in FRAMEWORKS[framework].executions]
LONG_BUILDS = [("tensorflow", "horovod")]  # environments that only make test-all builds
PARALLEL = [
    pytest.param(framework, strategy, marks=[pytest.mark.long] if (framework, strategy) in LONG_BUILDS else [])
    for framework in TRAINING_FRAMEWORKS
    for strategy in FRAMEWORKS[framework].strategies
    if strategy not in ("single", *EXCHANGE_IN_UPDATE.get(framework, ()))
]


@pytest.mark.parametrize(("framework", "execution"), SINGLE)
def test_gradients_are_those_of_a_training_step_and_the_weights_stay(framework: str, execution: str, ask: Any) -> None:
    found = ask("backward_probe", framework, execution, framework=framework)
    assert {"mlp", "accumulated"} <= set(found)
    for each in found.values():
        check(each)


@pytest.mark.parametrize(("framework", "strategy"), PARALLEL)
def test_two_ranks_exchange_gradients_in_the_backward_pass(framework: str, strategy: str, ask_ranks: Any) -> None:
    environment = f"horovod-{framework}" if strategy == "horovod" else None
    execution = FRAMEWORKS[framework].executions[0]
    words = ("backward_probe", framework, execution, strategy)
    for found in ask_ranks(*words, framework=framework, environment=environment):
        check(found["mlp"])


def check(found: dict[str, Any]) -> None:
    assert found["gradients"] <= TOLERANCE
    assert found["zeros"] == 0
    assert found["again"] <= TOLERANCE  # not accumulated
    assert found["weights"] == 0
    assert max(map(abs, found["losses"])) <= TOLERANCE
