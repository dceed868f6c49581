"""The optimizers of every framework, compared with a NumPy reference in float64 on a fixed sequence of gradients."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcbench.core.frameworks import FRAMEWORKS, TRAINING_FRAMEWORKS
from hpcbench.models.optimizers import optimizer_of
from hpcbench.models.reference.update import ReferenceUpdate
from tests.frameworks import optimizer_cases

TOLERANCE = 1e-6  # relative L2 error of the weights, per step
OF_BATCHES = 1e-5  # of the weights after three steps on two batches, compared with one batch twice as large
ADAMW = {"name": "adamw", "clip_norm": 0.1, "learning_rate": {"peak": 0.01, "warmup_steps": 2}}
LAMB = {"name": "lamb", "learning_rate": 0.1, "clip_value": 0.05}
NESTEROV = {"name": "nesterov", "learning_rate": 0.1}
ADAGRAD = {"name": "adagrad", "learning_rate": {"peak": 0.1, "warmup_steps": 5}}
DISTRIBUTED = [
    ("pytorch", "ddp", ADAMW),
    ("pytorch", "fsdp", ADAMW),
    ("pytorch", "fsdp", LAMB),
    ("pytorch", "deepspeed", ADAMW),
    ("pytorch", "deepspeed", ADAGRAD),
    ("pytorch", "horovod", ADAMW),
    ("pytorch", "horovod", LAMB),
    ("tensorflow", "multi_worker_mirrored", LAMB),
    ("keras-tensorflow", "multi_worker_mirrored", ADAMW),
    ("keras-tensorflow", "multi_worker_mirrored", NESTEROV),  # unlike AdamW, not invariant to the scale of gradients
    ("keras-torch", "ddp", LAMB),
    ("jax", "data_parallel", ADAMW),
    ("mxnet", "kvstore", NESTEROV),
]
_WITH_OTHERS = [("pytorch", "deepspeed"), ("keras-tensorflow", "multi_worker_mirrored")]
LONG = [each for each in DISTRIBUTED if each[1] == "horovod" or (each[:2] in _WITH_OTHERS and each[2] == ADAMW)]


Arrays = dict[str, np.ndarray]


def found_by(ask: Callable[..., Any], folder: Path, framework: str, *words: str, **settings: Any) -> Arrays:
    """The arrays that a framework found, or the first of its ranks."""
    result, execution = folder / "weights.npz", FRAMEWORKS[framework].executions[0]
    ask("optimizer_probe", framework, result, execution, *words, framework=framework, **settings)
    with np.load(result) as file:
        return dict(file)


@pytest.mark.parametrize("framework", TRAINING_FRAMEWORKS)
def test_all_optimizers_agree_with_the_reference(framework: str, ask: Any, tmp_path: Path) -> None:
    found, wrong = found_by(ask, tmp_path, framework), {}
    for name, options in optimizer_cases.cases().items():
        for steps, expected in zip((1, optimizer_cases.STEPS), reference(options), strict=True):
            error = relative_error(of_case(found, f"{name}.{steps}"), expected)
            if not error <= TOLERANCE * steps:
                wrong[f"{name} after {steps}"] = f"{error:.1e}"
    assert not wrong
    check_batches(found)


@pytest.mark.parametrize(
    ("framework", "strategy", "options"),
    [pytest.param(*each, marks=[pytest.mark.long] if each in LONG else []) for each in DISTRIBUTED],
    ids=[f"{framework}-{strategy}-{options['name']}" for framework, strategy, options in DISTRIBUTED],
)
def test_two_ranks_that_accumulate_gradients_take_the_step_of_one_large_batch(
    framework: str, strategy: str, options: dict[str, Any], ask_ranks: Any, tmp_path: Path
) -> None:
    environment = f"horovod-{framework}" if strategy == "horovod" else None
    words = (framework, strategy, json.dumps(options))
    check_batches(found_by(ask_ranks, tmp_path, *words, environment=environment))


def reference(options: dict[str, Any]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The weights in float64 after 1 and after all steps."""
    update, after = ReferenceUpdate(optimizer_of(options)), [optimizer_cases.start()]
    for gradients in optimizer_cases.gradients():
        after.append(update.next(after[-1], gradients))
    return after[1], after[-1]


def check_batches(found: Arrays) -> None:
    small, large = of_case(found, "small"), of_case(found, "large")
    assert len(small) == len(large) >= 4
    assert relative_error(small, large) <= OF_BATCHES


def of_case(found: Arrays, name: str) -> list[np.ndarray]:
    return [found[key] for key in sorted(found) if key.rpartition(".")[0] == name]


def relative_error(found: list[Any], expected: list[Any]) -> float:
    difference = np.concatenate([(one - other).ravel() for one, other in zip(found, expected, strict=True)])
    return float(np.linalg.norm(difference) / np.linalg.norm(np.concatenate([each.ravel() for each in expected])))
