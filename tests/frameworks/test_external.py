"""Models of the user's functions and of keras.applications in Keras and JAX, in their environments."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcbench.config.parameters import Parameters
from hpcbench.core.frameworks import FRAMEWORKS
from tests.frameworks.asking import Asked

NAMED = {"ids": {"shape": [7], "dtype": "tokens", "vocabulary": 11}, "mask": {"shape": [7]}}
MATRIX, IMAGE, SEQUENCE = {"shape": [3, 4]}, {"shape": [8, 8, 4]}, {"shape": [9, 4]}
DESCENT = {"name": "sgd", "learning_rate": 0.1}
ACCUMULATING = {**DESCENT, "gradient_accumulation_steps": 2, "clip_norm": 1.0}
# Multiply-accumulate operations of an item, by the formulas of the layers.
CONVOLUTIONS = (
    16 * 8 * 9 * 4,  # strides of 2: 4 x 4 positions
    4 * 8 * 9 * 4,  # two groups: each of 8 filters has 4 of 8 channels
    4 * 16 * 9,  # depthwise, with two filters for each channel
    4 * 16 * 9 + 4 * 16 * 6,  # separable: depthwise, then pointwise
    4 * 6 * 4 * 4,  # transposed: for each of its 2 x 2 inputs
    4 * 3,
)
RECURRENT = (9 * 4 * 6 * (4 + 6), 2 * 9 * 3 * 5 * (6 + 5), 9 * 4 * (10 + 4), 4 * 3)
ATTENTION = (4 * 7 * 8 * 8, 2 * 7 * 7 * 8, 7 * 8 * 6, 7 * 6 * 5)
KERAS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "dense": (MATRIX, (12 * 8, 8 * 3)),
    "convolutions": (IMAGE, CONVOLUTIONS),
    "recurrent": (SEQUENCE, RECURRENT),
    "attention": (NAMED, ATTENTION),
}
FLAX: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "nnx_convolutions": (IMAGE, (64 * 8 * 9 * 2, 8 * 3)),
    "linen_lstm": (SEQUENCE, (9 * 4 * 6 * (4 + 6), 9 * 3 * 6 * 2)),
    "linen_attention": (NAMED, (4 * 7 * 8 * 8, 2 * 7 * 7 * 8, 7 * 8 * 5)),
}
MOBILENET = {
    "model": "keras-applications/MobileNet",
    "model_options": {"alpha": 0.25},
    "input": {"shape": [32, 32, 3]},
}
# Each block has a depthwise convolution of 3 x 3 and a pointwise one: their channels, and the width of their output.
MOBILENET_BLOCKS = (
    *((8, 16, 16), (16, 32, 8), (32, 32, 8), (32, 64, 4), (64, 64, 4), (64, 128, 2)),
    *(5 * [(128, 128, 2)]),
    *((128, 256, 1), (256, 256, 1)),
)
MOBILENET_PRODUCTS = (
    16 * 16 * 8 * 9 * 3,
    *(size * size * inputs * (9 + outputs) for inputs, outputs, size in MOBILENET_BLOCKS),
    256 * 1000,
)
STEPS = 10
ENDED = "external_nets:ends cannot be built: SystemExit: HF_HUB_OFFLINE=1"


@pytest.fixture
def probe(asked: Asked) -> Callable[..., list[Any]]:
    """What models compute in some steps, or why they are refused, on each rank."""

    def probe(framework: str, *cases: dict[str, Any], ranks: int = 1, steps: int = STEPS) -> list[Any]:
        execution = FRAMEWORKS[framework].executions[0]
        shared = {"framework": framework, "task": "training", "batch_size": 4, "optimizer": DESCENT}
        planned = [
            {**Parameters.model_validate({**shared, **each}).planned(), "execution": execution} for each in cases
        ]
        return asked.answers("zoo_probe", json.dumps(planned), steps, framework=framework, ranks=ranks)

    return probe


def case(name: str, **changes: Any) -> dict[str, Any]:
    shape = MATRIX if name == "two_heads" else ({**KERAS, **FLAX}.get(name) or (IMAGE, ()))[0]
    return {"model": f"external_nets:{name}", "input": shape, **changes}


def zeros(name: str) -> dict[str, Any]:
    return case(name, model_options={} if name == "dense" else {"initializer": "zeros"})


@pytest.mark.parametrize("framework", ["keras-torch", "keras-tensorflow", "keras-jax"])
def test_the_same_model_has_the_same_work_on_all_backends_of_keras(
    framework: str, probe: Callable[..., list[Any]], made_once: Callable[..., Path]
) -> None:
    own = [{"model": f"external_nets:{name}", "input": MATRIX} for name in ("own_relu", "own_gelu")]

    def works_of(framework: str) -> list[dict[str, Any]]:
        more = [] if framework == "keras-jax" else [MOBILENET]  # for JAX, see below

        def fill(folder: Path) -> None:
            (works,) = probe(framework, *map(zeros, KERAS), *own, *more, steps=0)
            (folder / "works.json").write_text(json.dumps(works))

        found: list[dict[str, Any]] = json.loads((made_once(f"works-{framework}", fill) / "works.json").read_text())
        return found

    works, of_torch = works_of(framework), works_of("keras-torch")
    if framework != "keras-jax":
        check_mobilenet(of_torch[-1], works.pop())
    for name, (_, products), work, expected in zip(KERAS, KERAS.values(), works, of_torch, strict=False):
        assert work.get("flops_per_item") == 3 * 2 * sum(products), (name, work)
        assert work == expected, name
    assert works == of_torch[:-1]
    assert works[0]["parameter_count"] == 13 * 8 + 9 * 3
    assert works[3]["input_shapes"] == {"ids": [4, 7], "mask": [4, 7]}
    assert len({each["fingerprint"] for each in works}) == len(KERAS) + len(own)


def check_mobilenet(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.get("parameter_count") == 470_072, one
    assert one["flops_per_item"] == 3 * 2 * sum(MOBILENET_PRODUCTS)
    assert one == other, "and the same fingerprint"


@pytest.mark.long
def test_a_network_of_keras_applications_has_the_same_work_on_jax(probe: Callable[..., list[Any]]) -> None:
    """On JAX, random initial values take seconds."""
    (one,), (other,) = (probe(framework, MOBILENET, steps=0)[0] for framework in ("keras-torch", "keras-jax"))
    check_mobilenet(one, other)


@pytest.mark.parametrize("framework", ["jax"])
def test_the_flops_of_flax_modules_are_those_of_the_formulas(framework: str, probe: Callable[..., list[Any]]) -> None:
    (found,) = probe(framework, *(case(name, task="inference") for name in FLAX), steps=0)
    for each, (name, (_, products)) in zip(found, FLAX.items(), strict=True):
        assert each.get("flops_per_item") == 2 * sum(products), (name, each)
    assert found[0]["parameter_count"] == 9 * 2 * 8 + 8 + 2 * 8 + 8 * 3 + 3


@pytest.fixture
def images(tmp_path: Path) -> dict[str, str]:
    """Real data of the shape IMAGE, with the channels first, as for the shipped models."""
    numbers = np.random.default_rng(0).random((40, 4, 8, 8), dtype=np.float32)
    np.savez(tmp_path / "images.npz", x=numbers, y=np.arange(40) % 3)
    return {"npz": str(tmp_path / "images.npz")}


@pytest.mark.parametrize("framework", ["keras-torch", "keras-jax", "keras-tensorflow"])
def test_keras_models_train_and_mistakes_are_refused_with_the_reason(
    framework: str, probe: Callable[..., list[Any]], images: dict[str, str]
) -> None:
    convolutions = zeros("convolutions") if framework == "keras-jax" else case("convolutions")
    (found,) = probe(
        framework,
        {**convolutions, "optimizer": ACCUMULATING, "data": images},
        {**zeros("attention"), "loss_function": "external_nets:loss_of_logits"},
        case("text"),
        {**zeros("convolutions"), "input": {"shape": [8, 4]}},
        case("convolution"),
        {**zeros("attention"), "input": {"ids": NAMED["ids"]}},
        {"model": "keras-applications/resnet50"},
        {"model": "keras-applications/ResNet50", "model_options": {"weights": "imagenet"}},
        {**zeros("convolutions"), "weights": "no.weights.h5"},
        case("ends"),
    )
    for each in found[:2]:
        assert "error" not in each, each
    assert found[0]["values"][-1] < 2, "the loss of other items in each step"
    assert found[1]["values"][-1] < found[1]["values"][0]
    errors = [each["error"] for each in found[2:]]
    assert errors[0] == "external_nets:text returned an object of type str, not a keras.Model"
    shape = "input of shape (1, 8, 4), float32"
    assert errors[1].startswith(f"the forward pass of external_nets:convolutions with {shape} failed: ValueError: ")
    assert "external_nets.py; did you mean convolutions or " in errors[2]
    assert errors[3] == "'input' has ids, but the model requires ids, mask"
    assert "'resnet50' not found in Keras" in errors[4]
    assert "did you mean ResNet50 " in errors[4]
    assert errors[5].startswith("model_options: 'weights' could download weights")
    assert errors[6].startswith("weights: no.weights.h5 cannot be loaded: ")
    assert errors[7] == ENDED


@pytest.mark.parametrize("framework", ["jax"])
def test_flax_modules_train_and_mistakes_are_refused_with_the_reason(
    framework: str, probe: Callable[..., list[Any]], images: dict[str, str]
) -> None:
    (found,) = probe(
        framework,
        case("linen_convolutions", optimizer=ACCUMULATING, data=images),
        case("nnx_convolutions", model_options={"width": 4}, loss_function="mse"),
        case("text"),
        case("nnx_convolutions", input={"shape": [8, 8, 3]}),
        case("linen_attention", input={"ids": NAMED["ids"]}),
        case("ends"),
    )
    for each in found[:2]:
        assert "error" not in each, each
    assert found[0]["values"][-1] < 2, "the loss of other items in each step"
    assert found[1]["values"][-1] < found[1]["values"][0]
    errors = [each["error"] for each in found[2:]]
    assert errors[0] == "external_nets:text returned an object of type str, not a Flax module (nnx or linen)"
    shape = "input of shape (1, 8, 8, 3), float32"
    assert errors[1].startswith(f"the forward pass of external_nets:nnx_convolutions with {shape} failed: ")
    assert "missing 1 required positional argument: 'mask'" in errors[2]
    assert errors[3] == ENDED


@pytest.mark.parametrize("framework", ["keras-torch"])
def test_keras_loads_the_weights_of_a_file(
    framework: str, probe: Callable[..., list[Any]], environment_python: Callable[[str], Path], tmp_path: Path
) -> None:
    file = tmp_path / "own.weights.h5"
    code = f"from external_nets import dense; net = dense(); net.build((None, 3, 4)); net.save_weights({str(file)!r})"
    variables = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "KERAS_BACKEND": "torch"}
    subprocess.run([environment_python("keras-torch"), "-c", code], check=True, capture_output=True, env=variables)
    nets = [
        case("dense", task="inference", seed=seed, weights=weights) for weights in (str(file), None) for seed in (1, 2)
    ]
    one, other, *random = (each["weights"] for each in probe(framework, *nets, steps=1)[0])
    assert one == other
    assert len({one, *random}) == 3


@pytest.mark.parametrize(
    ("framework", "strategy", "name"),
    [
        ("keras-torch", "ddp", "two_heads"),
        ("keras-tensorflow", "multi_worker_mirrored", "two_heads"),
        pytest.param("keras-jax", "data_parallel", "two_heads", marks=pytest.mark.long),
        ("jax", "data_parallel", "nnx_convolutions"),
    ],
)
def test_two_ranks_train_the_same_weights(
    framework: str, strategy: str, name: str, probe: Callable[..., list[Any]]
) -> None:
    one, other = (rank[0] for rank in probe(framework, case(name, strategy=strategy, tasks_per_node=2), ranks=2))
    assert one["weights"] == other["weights"] > 0
    assert one["values"] != other["values"], "each rank has its own share of the batch"
