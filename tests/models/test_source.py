"""The source of a model, by its name."""

from __future__ import annotations

import re

import pytest

from hpcbench.models.source import FUNCTION, PATTERN, SHIPPED, ZOO, Source, source_of


@pytest.mark.parametrize(
    ("model", "source"),
    [
        ("resnet50", Source(SHIPPED, "", "resnet50")),
        ("torchvision/resnet50", Source(ZOO, "torchvision", "resnet50")),
        ("timm/vit_tiny_patch16_224.augreg_in21k", Source(ZOO, "timm", "vit_tiny_patch16_224.augreg_in21k")),
        ("transformers/BertForMaskedLM", Source(ZOO, "transformers", "BertForMaskedLM")),
        ("mypackage.nets:Nets.build", Source(FUNCTION, "mypackage.nets", "Nets.build")),
    ],
)
def test_a_name_has_one_source_and_the_schema_of_editors_accepts_it(model: str, source: Source) -> None:
    assert source_of(model) == source
    assert bool(re.search(PATTERN, model)) == source.is_external


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("torchvison/resnet50", "'torchvison' is not a known library of models; use one of: torchvision, timm"),
        ("torchvision/", "'torchvision/' is not the name of a model, such as torchvision/resnet50"),
        ("timm/../x", "is not the name of a model"),
        ("nets:", "'nets:' is not a function of a module, such as mypackage.nets:build"),
        (":build", "is not a function of a module"),
        ("my-nets:build", "is not a function of a module"),
        ("nets:build()", "is not a function of a module"),
        ("1nets:build", "is not a function of a module"),
    ],
)
def test_a_name_that_is_no_model_is_refused(model: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        source_of(model)
    assert not re.search(PATTERN, model)
