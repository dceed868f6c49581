"""Which cases run an image network of the catalog."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hpcbench.config.parameters import Parameters
from hpcbench.predict.results.image_case import ImageCase, image_case


def case(model: str, **more: Any) -> ImageCase:
    return image_case(Parameters.model_validate({"framework": "pytorch", "model": model, "batch_size": 8, **more}))


def test_shipped_models_have_the_size_of_their_options() -> None:
    assert case("resnet50") == ImageCase("resnet50", 224.0)
    assert case("resnet50", model_options={"image_size": 96}) == ImageCase("resnet50", 96.0)
    assert case("vgg16") == ImageCase("vgg16", 224.0)
    assert case("vgg16", model_options={"image_size": 96}).network == "", "its linear layers have other sizes"
    assert case("inception_v3", task="inference") == ImageCase("inception_v3", 299.0)


@pytest.mark.parametrize("model", ["mlp", "transformer", "mypackage.nets:build", "timm/unheard", "transformers/bert"])
def test_other_models_are_not_in_the_catalog(model: str) -> None:
    more = {"input": {"shape": [3, 32, 32]}} if ":" in model else {}
    assert case(model, **more).network == ""


def test_models_of_libraries_have_the_size_of_their_input() -> None:
    found = case("timm/vit_tiny_patch16_224")
    assert found.network == "timm/vit_tiny_patch16_224"
    assert math.isnan(found.image_size)
    assert case("timm/resnet50.a1_in1k", input={"shape": [3, 160, 160]}).image_size == 160.0
    assert case("timm/vit_tiny_patch16_224", model_options={"img_size": 384}).image_size == 384.0


@pytest.mark.parametrize(
    "more",
    [
        {"model_options": {"num_classes": 10}},
        {"input": {"shape": [3, 224, 320]}},
        {"loss_function": "mypackage.losses:mine"},
        {"task": "backward"},
        {"optimizer": {"name": "sgd", "gradient_accumulation_steps": 4}},
        {"strategy": "ddp", "tasks_per_node": 2},
    ],
)
def test_changed_networks_and_steps_are_not_those_of_the_catalog(more: dict[str, Any]) -> None:
    assert case("torchvision/resnet50").network == "torchvision/resnet50"
    assert case("torchvision/resnet50", **more).network == ""
