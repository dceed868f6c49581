"""`hpcbench predict` with the name of a model in place of an experiment."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from hpcbench.collect.operator_lists import lists
from hpcbench.core.profiling.operator_list import OperatorList
from hpcbench.core.run_spec import PlannedRun
from tests.commands.predict.test_predict import product
from tests.conftest import CommandLine


@pytest.fixture
def asked(invoke: CommandLine, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The parameters of the cases whose operators were listed."""
    found: list[dict[str, Any]] = []

    def listing(resolved: object, planned: Sequence[PlannedRun], *_: object) -> list[OperatorList]:
        found.extend(dict(each.parameters) for each in planned)
        return [OperatorList(each.case_id, "", (product(512),), "1", 1000) for each in planned]

    monkeypatch.setattr(lists, "run_node", listing)
    return found


def predict(invoke: CommandLine, *arguments: str, expect: int = 0) -> Any:
    environments = {name: {"python": sys.executable} for name in ("pytorch", "pytorch-zoo")}
    site = invoke.site(environments=environments)
    return invoke("predict", *arguments, "--device", "l40s", "--site", site, expect=expect)


@pytest.mark.parametrize("model", ["torchvision/resnet50", "transformers/bert", "resnet50"])
def test_a_model_is_predicted_for_inference(invoke: CommandLine, asked: list[dict[str, Any]], model: str) -> None:
    found = json.loads(predict(invoke, model, "--json").stdout)
    assert found["experiment"] == model.replace("/", "-")
    assert [(each["model"], each["task"], each["batch_size"]) for each in asked] == [(model, "inference", 1)]


def test_batch_sizes_and_settings_apply_to_a_model(invoke: CommandLine, asked: list[dict[str, Any]]) -> None:
    predict(invoke, "timm/vit_small_patch16_224", "--batch-size", "8,64", "--set", "parameters.task=training")
    assert [(each["task"], each["batch_size"]) for each in asked] == [("training", 8), ("training", 64)]


def test_the_name_of_an_experiment_has_priority(invoke: CommandLine, asked: list[dict[str, Any]]) -> None:
    file = invoke.workspace / "configs" / "experiments" / "resnet50.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    (invoke.workspace / invoke.experiment(matrix={"batch_size": [3]})).rename(file)
    predict(invoke, "resnet50")
    assert {each["batch_size"] for each in asked} == {3}


@pytest.mark.parametrize(
    ("name", "hint"),
    [("resnet51", "did you mean 'resnet50'?"), ("huggingface/bert", "torchvision/NAME"), ("nets/none", "list models")],
)
def test_an_unknown_name_has_a_hint_with_models(invoke: CommandLine, name: str, hint: str) -> None:
    error = " ".join(predict(invoke, name, expect=2).stderr.split())
    assert f"'{name}' not found" in error
    assert hint in error


def test_the_action_of_a_missing_environment_is_a_hint(invoke: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPCBENCH_ENVS", str(invoke.workspace / "none"))
    error = " ".join(invoke("predict", "transformers/bert", "--device", "l40s", expect=2).stderr.split())
    assert "error: no case can be predicted: the environment 'pytorch-zoo' is not built hint: build it: " in error
    done = invoke("predict", "torchvision/resnet50", "--device", "l40s,t4")
    assert "\nmemory not predicted: the environment 'pytorch-zoo' is not built\n" in done.stdout
    limits = [
        line.split()[-1] for line in done.stdout.splitlines() if line.startswith(("device  time (ms)", "l40s ", "t4 "))
    ]
    assert limits[:3] == ["limit", "launch", "launch"]
    assert " ".join(done.stderr.split()).count("hpcbench env build pytorch-zoo") == 1
