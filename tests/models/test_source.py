"""The source of a model, by its name."""

from __future__ import annotations

import re

import pytest

from hpcbench.models.source import FUNCTION, ONNX, PATTERN, SHIPPED, ZOO, Source, source_of


@pytest.mark.parametrize(
    ("model", "source"),
    [
        ("resnet50", Source(SHIPPED, "", "resnet50")),
        ("torchvision/resnet50", Source(ZOO, "torchvision", "resnet50")),
        ("timm/vit_tiny_patch16_224.augreg_in21k", Source(ZOO, "timm", "vit_tiny_patch16_224.augreg_in21k")),
        ("transformers/BertForMaskedLM", Source(ZOO, "transformers", "BertForMaskedLM")),
        ("keras-applications/ResNet50V2", Source(ZOO, "keras-applications", "ResNet50V2")),
        ("mypackage.nets:Nets.build", Source(FUNCTION, "mypackage.nets", "Nets.build")),
        ("onnx:net.onnx", Source(ONNX, "", "net.onnx")),
        ("onnx:../my nets/v1:a.onnx", Source(ONNX, "", "../my nets/v1:a.onnx")),
        ("onnxes:build", Source(FUNCTION, "onnxes", "build")),
    ],
)
def test_a_name_has_one_source_and_the_schema_of_editors_accepts_it(model: str, source: Source) -> None:
    assert source_of(model) == source
    assert bool(re.search(PATTERN, model)) == source.is_external


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("torchvison/resnet50", "unknown library 'torchvison'; use one of: torchvision, timm"),
        ("torchvision/", "invalid model name 'torchvision/'; use torchvision/NAME"),
        ("timm/../x", "invalid model name"),
        ("nets:", "invalid function 'nets:'; use MODULE:FUNCTION, e.g. mypackage.nets:build"),
        (":build", "invalid function"),
        ("my-nets:build", "invalid function"),
        ("nets:build()", "invalid function"),
        ("1nets:build", "invalid function"),
        ("onnx:", "invalid model 'onnx:'; use onnx:FILE, e.g. onnx:net.onnx"),
        ("onnx: ", "invalid model"),
    ],
)
def test_a_name_that_is_no_model_is_refused(model: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        source_of(model)
    assert not re.search(PATTERN, model)
