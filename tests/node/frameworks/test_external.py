"""What external models have in common: how they are built, named and hashed, and which output counts."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from hpcbench.models.initial_weights import Numbers
from hpcbench.models.losses import LOSSES
from hpcbench.models.source import FUNCTION, ZOO, Source
from hpcbench.node.errors import BadModel, Unsupported
from hpcbench.node.frameworks.external.building import built, check_ranks, refuse_weights, unknown_name
from hpcbench.node.frameworks.external.outputs import main_output, synthetic_targets
from hpcbench.node.frameworks.external.trace import fingerprint


def test_the_nearest_names_do_not_depend_on_capitals() -> None:
    error = unknown_name("Keras", "3.15.1", "vgg16", ["ResNet50", "VGG16"])
    assert error.type == "parameters", "another run would fail again"
    assert str(error) == "model 'vgg16' not found in Keras 3.15.1; did you mean VGG16?"
    assert str(unknown_name("Keras", "3", "x", ["ResNet50"])) == "model 'x' not found in Keras 3"


def test_errors_of_a_builder_are_those_of_the_model() -> None:
    def fails() -> None:
        raise RuntimeError("no weights today\nsecond line")

    def lacks() -> None:
        raise Unsupported("no library")

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(BadModel, match=r"^nets:build cannot be built: RuntimeError: no weights today$") as error:
        built("nets:build", fails, str, "text")
    assert error.value.last_lines[-1] == "second line"
    with pytest.raises(BadModel, match=r"^nets:build cannot be built: SystemExit: 4$") as error:
        built("nets:build", lambda: sys.exit(4), str, "text")
    assert error.value.last_lines[-1] == "SystemExit: 4"
    with pytest.raises(KeyboardInterrupt):
        built("nets:build", interrupted, str, "text")
    with pytest.raises(Unsupported):
        built("nets:build", lacks, str, "text")
    with pytest.raises(BadModel, match=r"^nets:build returned an object of type int, not a text$"):
        built("nets:build", lambda: 3, str, "text")


def test_the_first_rank_with_another_model_is_named() -> None:
    def group(*others: str) -> Any:
        return SimpleNamespace(gather=lambda value: [value, *others])

    check_ranks(group("a", "a"), "a", "'nets:build' builds different models")
    with pytest.raises(BadModel, match=r"^'nets:build' builds different models on ranks 0 and 2$"):
        check_ranks(group("a", "b", "c"), "a", "'nets:build' builds different models")


def test_options_that_download_weights_are_refused_for_libraries_only() -> None:
    refuse_weights(Source(FUNCTION, "nets", "build"), {"weights": "mine"}, {"weights"})
    with pytest.raises(BadModel, match="model_options: 'weights' could download weights"):
        refuse_weights(Source(ZOO, "timm", "resnet18"), {"weights": "x", "depth": 3}, {"weights"})


def test_the_main_output_is_the_logits_otherwise_the_first_tensor() -> None:
    assert main_output("a", str) == "a"
    assert main_output({"hidden": "a", "logits": "b"}, str) == "b"
    assert main_output((1, "a", "b"), str) == "a"
    with pytest.raises(BadModel, match="an object of type int without a tensor"):
        main_output(3, str)


@pytest.mark.parametrize("loss", [*LOSSES, "nets:loss"])
def test_targets_are_classes_or_have_the_shape_of_the_output(loss: str) -> None:
    targets = synthetic_targets(loss, (2, 5, 4, 3), 3, Numbers(0))
    if loss in ("cross_entropy", "nets:loss"):
        assert targets.shape == (2, 5, 4)
        assert set(targets.ravel()) == {0, 1, 2}
    else:
        assert targets.shape == (2, 5, 4, 3)
        assert targets.dtype == "float32"


def test_a_fingerprint_depends_on_the_order_of_lines() -> None:
    assert fingerprint(["a", "b"]) != fingerprint(["b", "a"])
    assert len(fingerprint([])) == 16
