"""The validation of models of libraries against themselves in float64, without false alarms."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.config.parameters import Parameters
from hpcbench.core.validation.result import NOT_VALIDATED, PASSED

SMALL = {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64}
IMAGE: dict[str, Any] = {"input": {"shape": [3, 64, 64]}, "batch_size": 2}
TEXT: dict[str, Any] = {"input": {"shape": [16]}, "batch_size": 2}
MODELS: list[dict[str, Any]] = [
    {"model": "torchvision/resnet18", **IMAGE},
    {"model": "timm/convnextv2_atto", **IMAGE},
    {"model": "transformers/bert", "model_options": SMALL, **TEXT},
    {"model": "transformers/gpt2", "model_options": {"n_layer": 2, "n_embd": 32, "n_head": 2}, **TEXT},
]


@pytest.mark.parametrize("task", ["inference", "backward"])
def test_no_correct_model_of_a_library_is_a_false_alarm(ask: Callable[..., Any], task: str) -> None:
    planned = [
        {**Parameters.model_validate({"framework": "pytorch", "task": task, **each}).planned(), "execution": "eager"}
        for each in MODELS
    ]
    words = ("zoo_validation_probe", json.dumps(planned))
    found = ask(*words, framework="pytorch", environment="pytorch-zoo")
    assert [(verdict, reason) for _, _, verdict, reason, _, _ in found] == [(PASSED, None)] * len(MODELS)
    assert all(0 < ratio < 0.5 for _, _, _, _, ratio, _ in found)
    assert all(error is None or error < 1e-6 for *_, error in found)


@pytest.mark.parametrize("framework", ["keras-torch"])
def test_another_framework_gives_the_reason(ask: Callable[..., Any], framework: str) -> None:
    own = {"framework": framework, "model": "keras-applications/MobileNet", "task": "inference", "batch_size": 1}
    asked = {**own, "input": {"shape": [32, 32, 3]}}
    planned = [{**Parameters.model_validate(asked).planned(), "execution": "eager"}]
    words = ("zoo_validation_probe", json.dumps(planned))
    ((_, _, verdict, reason, _, _),) = ask(*words, framework=framework)
    assert verdict == NOT_VALIDATED
    assert "are validated with framework: pytorch only" in reason
