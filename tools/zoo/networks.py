"""The networks of timm and torchvision by name: how to build each on meta tensors, and the names of old releases."""

from __future__ import annotations

from typing import Any

import torch
from torch import library as torch_library

# torchvision registers kernels for these when it is imported; next to a PyTorch without its C++ part they are declared.
_OPERATORS = torch_library.Library("torchvision", "DEF")
for _schema in (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
):
    _OPERATORS.define(_schema)

import timm  # noqa: E402
import torchvision.models  # noqa: E402
from timm.models import _registry  # noqa: E402

TIMM, TORCHVISION = "timm", "torchvision"
_SIZE = 224  # of the networks of torchvision


def names(library: str) -> list[str]:
    """Return the names of all image networks of a library."""
    if library == TIMM:
        return list(timm.list_models())
    return list(torchvision.models.list_models(module=torchvision.models))


def old_names() -> dict[str, str]:
    """Return today's name for each name of an earlier release of timm."""
    found = {old: new for old, new in _registry._deprecated_models.items() if new}
    return {old: new.split(".")[0] for old, new in found.items()}


def built(library: str, name: str) -> tuple[torch.nn.Module, int]:
    """Return a network on meta tensors in evaluation mode, and its image size."""
    if library == TIMM:
        with torch.device("meta"):
            model: Any = timm.create_model(name, pretrained=False)
        return model.eval(), int(model.default_cfg["input_size"][-1])
    options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    where = "cpu" if name.startswith("regnet") else "meta"
    with torch.device(where):
        model = torchvision.models.get_model(name, weights=None, **options)
    return model.to("meta").eval(), 299 if name == "inception_v3" else _SIZE
