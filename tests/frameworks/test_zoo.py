"""Networks of torchvision, timm and transformers in their environment, alone and on two ranks."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.config.parameters import Parameters
from tests.frameworks.asking import Asked

BERT = {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64}
T5 = {"num_layers": 1, "d_model": 32, "num_heads": 2, "d_ff": 32, "d_kv": 16}
# Parameters and multiply-accumulate operations of a forward pass, as the libraries document them.
KNOWN = {
    "torchvision/resnet18": (11_689_512, 1.814e9),
    "torchvision/mobilenet_v3_small": (2_542_856, 0.057e9),
    "timm/vit_tiny_patch16_224": (5_717_416, 1.26e9),
}
NETS = """
from torch import nn

def build():
    blocks = [nn.Sequential(nn.Linear(16, 16), nn.ReLU()) for _ in range(3)]
    return nn.Sequential(nn.Flatten(), nn.Linear(12, 16), *blocks, nn.Linear(16, 3))
"""


@pytest.fixture
def probe(asked: Asked) -> Callable[..., list[Any]]:
    """What models compute, or why they are refused, on each rank."""

    def probe(*cases: dict[str, Any], ranks: int = 1, environment: str = "pytorch-zoo") -> list[Any]:
        planned = [
            {**Parameters.model_validate({"framework": "pytorch", **each}).planned(), "execution": "eager"}
            for each in cases
        ]
        words = ("zoo_probe", json.dumps(planned), 2)
        return asked.answers(*words, framework="pytorch", environment=environment, ranks=ranks)

    return probe


def test_networks_of_each_library_infer_and_train(probe: Callable[..., list[Any]]) -> None:
    cases: list[dict[str, Any]] = [
        *({"model": name, "task": "inference", "batch_size": 1} for name in KNOWN),
        {"model": "torchvision/googlenet", "input": {"shape": [3, 64, 64]}, "batch_size": 2},
        {"model": "torchvision/lraspp_mobilenet_v3_large", "input": {"shape": [3, 64, 64]}, "batch_size": 2},
        {"model": "timm/convnextv2_atto", "input": {"shape": [3, 64, 64]}, "batch_size": 2},
        {"model": "transformers/bert", "model_options": BERT, "input": {"shape": [16]}, "batch_size": 2},
        {"model": "transformers/BertForSequenceClassification", "model_options": BERT, "batch_size": 2},
        {"model": "transformers/t5", "model_options": T5, "input": {"shape": [16]}, "batch_size": 2},
        {"model": "transformers/vit", "model_options": {**BERT, "image_size": 32}, "batch_size": 2},
    ]
    (found,) = probe(*cases)
    for case, each in zip(cases, found, strict=True):
        assert "error" not in each, (case, each)
        assert all(value == value for value in each["values"]), (case, each)
    for each, (parameters, multiplications) in zip(found, KNOWN.values(), strict=False):
        assert each["parameter_count"] == parameters
        assert each["flops_per_item"] == pytest.approx(2 * multiplications, rel=0.01)
    shapes = [each["input_shapes"] for each in found]
    assert shapes[0] == {"input": [1, 3, 224, 224]}, "the size for which the weights were made"
    assert shapes[7] == {"input_ids": [2, 128]}
    assert shapes[8] == {"input_ids": [2, 16], "decoder_input_ids": [2, 16]}


def test_an_unknown_name_or_option_has_the_nearest_names(probe: Callable[..., list[Any]]) -> None:
    cases = [
        {"model": "torchvision/resnet51"},
        {"model": "timm/vit_tiny_patch16"},
        {"model": "transformers/brt"},
        {"model": "transformers/bert", "model_options": {"num_hiden_layers": 2}},
        {"model": "torchvision/fasterrcnn_resnet50_fpn"},
        {"model": "torchvision/resnet18", "model_options": {"weights": "DEFAULT"}},
    ]
    (found,) = probe(*cases)
    assert [each["refused"] for each in found] == ["BadParameters"] * len(cases), "in each attempt"
    errors = [each["error"] for each in found]
    assert errors[0].startswith("model 'resnet51' not found in torchvision ")
    assert "; did you mean resnet50" in errors[0]
    assert "; did you mean vit_tiny_patch16_" in errors[1]
    assert "; did you mean bert" in errors[2]
    assert errors[3].startswith(
        "unknown option 'num_hiden_layers' in model_options of transformers/bert; did you mean num_h"
    )
    assert "is not supported: its input is a list of images, not one tensor" in errors[4]


def test_the_library_of_the_model_is_named_if_it_is_missing(
    probe: Callable[..., list[Any]], environment_python: Callable[[str], Path]
) -> None:
    libraries = ("torchvision", "timm", "transformers")
    (found,) = probe(*({"model": f"{library}/resnet18"} for library in libraries), environment="pytorch")
    advice = "build the environment: hpcbench env build pytorch-zoo"
    assert found == [
        {"refused": "Unsupported", "error": f"{library} not found in {environment_python('pytorch')}; {advice}"}
        for library in libraries
    ]


@pytest.mark.long
def test_an_unknown_name_is_not_resumed(with_environments: Callable[..., Any]) -> None:
    command_line = with_environments("pytorch-zoo")
    own = {"model": "torchvision/resnet51", "model_options": {}, "environment": "pytorch-zoo"}
    command_line("sweep", command_line.experiment(parameters=own), "--local", expect=1)
    shown = " ".join(command_line("status").stdout.split())
    assert (
        "1 run would fail again: correct `model` or `model_options` in the experiment; then start a new sweep" in shown
    )
    assert "hpcbench resume" not in shown


def test_weights_that_a_folder_of_transformers_lacks_are_remarked(
    probe: Callable[..., list[Any]], environment_python: Callable[[str], Path], zipapp: Path, tmp_path: Path
) -> None:
    code = "from hpcbench_carried.node.frameworks.pytorch.external import of_torchvision as vision\n"
    code += "vision.import_torchvision()\n"  # which transformers imports
    code += f"import transformers as t; t.BertModel(t.BertConfig(**{BERT})).save_pretrained({str(tmp_path)!r})"
    words = [environment_python("pytorch-zoo"), "-c", code]
    subprocess.run(words, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(zipapp)})
    case = {"weights": str(tmp_path), "input": {"shape": [16]}, "batch_size": 2}
    names = ("BertModel", "BertForSequenceClassification")
    (found,) = probe(*({"model": f"transformers/{name}", "task": "inference", **case} for name in names))
    whole, headless = (each["remarks"] for each in found)
    assert not [remark for remark in whole if "weight tensors" in remark and "does not contain" in remark]
    lacking = "does not contain 2 weight tensors of the model, e.g. classifier.bias; their values are random"
    assert f"'{tmp_path}' {lacking}" in headless


@pytest.mark.parametrize("strategy", [pytest.param("ddp", marks=pytest.mark.long), "fsdp"])
def test_two_ranks_train_one_network_of_each_library(strategy: str, probe: Callable[..., list[Any]]) -> None:
    shared = {"strategy": strategy, "tasks_per_node": 2, "batch_size": 2}
    case = {"model": "transformers/bert", "model_options": BERT, "input": {"shape": [16]}, **shared}
    one, other = probe(case, ranks=2)
    assert one[0]["parameter_count"] > 0
    assert "error" not in other[0]


@pytest.mark.parametrize("strategy", ["ddp", pytest.param("fsdp", marks=pytest.mark.long)])
def test_a_sweep_trains_a_function_of_the_user_on_two_ranks(
    strategy: str, with_environments: Callable[..., Any]
) -> None:
    command_line = with_environments("pytorch")
    (command_line.workspace / "my_nets.py").write_text(NETS)
    own = {"model": "my_nets:build", "model_options": {}, "input": {"shape": [3, 2, 2]}, "task": "training"}
    ranks = {"strategy": strategy, "tasks_per_node": 2}
    command_line("sweep", command_line.experiment(parameters={**own, **ranks, "batch_size": 2}), "--local")
    (record,) = command_line.records()
    assert record["status"] == "completed", record["error"]
    assert record["work"]["graph_fingerprint"]
    (row,) = command_line.report()
    assert row["input"] == "3x2x2"


@pytest.mark.long
@pytest.mark.parametrize(
    "changes",
    [
        {"model": "torchvision/resnet18", "input": {"shape": [3, 64, 64]}},
        {"model": "timm/vit_tiny_patch16_224"},
        {"model": "transformers/bert", "model_options": BERT, "input": {"shape": [16]}},
        {"model": "my_nets:build", "input": {"shape": [3, 2, 2]}, "environment": "pytorch-zoo"},
    ],
    ids=lambda changes: changes["model"],
)
def test_tune_finds_threads_per_layer_of_one_network_of_each_library(
    changes: dict[str, Any], with_environments: Callable[..., Any]
) -> None:
    """The search for a plan ends with a plan, or with the reason why none is faster."""
    command_line = with_environments("pytorch-zoo")
    (command_line.workspace / "my_nets.py").write_text(NETS)
    cpus = min(2, len(os.sched_getaffinity(0)))
    experiment = command_line.experiment(
        parameters={"model_options": {}, "task": "inference", "cpus_per_task": cpus, "batch_size": 2, **changes},
        matrix={"threads": ["none", "fixed", "dynamic"], "intra_op_threads": [None, *range(1, cpus + 1)]},
        exclude=["{{ (intra_op_threads is none) == (threads == 'fixed') }}"],
        measure={"max_warmup_s": 0.1, "max_time_s": 0.3, "repetitions": 2},
    )
    command_line("tune", experiment, "--local", "--name", "found")
    (finding,) = json.loads((command_line.workspace / "results" / "found" / "tuning.json").read_text())
    assert finding["failed"] == []
    by_layer = finding["by_section"]
    assert by_layer["gain"]["estimate"] > 0 if by_layer["schedule"] else by_layer["why"]


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_shipped_experiment_runs_all_of_its_networks(with_environments: Callable[..., Any]) -> None:
    command_line = with_environments("pytorch-zoo")
    command_line.timeout_s = 1700
    measure = "{max_warmup_s: 0, min_time_s: 0.05, max_time_s: 0.1, min_measurements: 2, repetitions: 1, retries: 0}"
    command_line("sweep", "zoo", "--local", "--set", f"measure={measure}", expect=None)
    records = command_line.records()
    failed = {record["parameters"]["model"]: record["error"] for record in records if record["status"] != "completed"}
    assert failed == {}
    assert len({record["case_id"] for record in records}) == len(records) == 84
    assert len({record["parameters"]["model"] for record in records}) == 42


def test_a_module_that_is_not_found_is_a_failure_with_the_search_path(with_environments: Callable[..., Any]) -> None:
    command_line = with_environments("pytorch")
    own = {"model": "no_such_nets:build", "model_options": {}, "input": {"shape": [3, 2, 2]}}
    command_line("sweep", command_line.experiment(parameters=own), "--local", expect=1)
    (record,) = command_line.records()
    assert record["error"]["type"] == "model"
    assert record["error"]["message"].startswith("model: module 'no_such_nets' not found by ")
    assert str(command_line.workspace) in record["error"]["message"]
