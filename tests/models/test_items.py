"""The unit of the throughput, by model."""

from __future__ import annotations

import pytest

from hpcbench.analysis.cases.quantities import items_of
from hpcbench.models.catalog import MODELS
from hpcbench.models.items import ITEMS


def test_each_model_has_an_item() -> None:
    assert list(ITEMS) == list(MODELS)


@pytest.mark.parametrize("model", MODELS)
def test_the_item_agrees_with_the_options_of_the_model(model: str) -> None:
    kinds = {"image_size": "image", "sequence_length": "sequence"}
    expected = next((kinds[name] for name in kinds if name in MODELS[model].options), "sample")
    assert ITEMS[model] == ("token" if MODELS[model].predicts_tokens else expected)


@pytest.mark.parametrize(
    ("models", "items"),
    [
        (["resnet50"], "images"),
        (["resnet50", "vgg16"], "images"),
        (["transformer"], "sequences"),
        (["gpt"], "tokens"),
        (["torchvision/resnet18", "timm/vit_tiny"], "images"),
        (["torchvision/r3d_18", "torchvision/mvit_v1_b"], "videos"),
        (["mlp"], "samples"),
        (["resnet50", "transformer"], "samples"),
        ([None], "samples"),
    ],
)
def test_throughput_has_the_unit_of_its_models(models: list[str | None], items: str) -> None:
    assert items_of(*models) == items
