"""Models of timm, without their pretrained weights."""

from typing import Any, Dict

from .....models.inputs import UNNAMED, Input
from ...external.building import unknown_name
from . import of_torchvision
from .built import Built, built


def build(name: str, options: Dict[str, Any]) -> Built:
    """Return the model `name` with random weights; `options` are arguments of timm.create_model.

    Raise BadParameters for an unknown name, and Unsupported if timm is not installed.
    """
    timm = of_torchvision.import_dependent("timm")
    if not timm.is_model(name):
        raise unknown_name("timm", timm.__version__, name, timm.list_models())
    module = built("timm/%s" % name, lambda: timm.create_model(name, pretrained=False, **options))
    return Built(module, {UNNAMED: Input(_shape(module, options))})


def _shape(module: Any, options: Dict[str, Any]) -> Any:
    """Return (channels, height, width) of the input."""
    configuration = getattr(module, "pretrained_cfg", None) or {}
    channels, height, width = configuration.get("input_size") or (3, 224, 224)
    size = options.get("img_size", (height, width))
    height, width = size if isinstance(size, (list, tuple)) else (size, size)
    return (options.get("in_chans", channels), height, width)
