"""Models of torchvision, without their pretrained weights."""

import importlib
import inspect
import os
import sys
from contextlib import suppress
from typing import Any, Dict

from torch import library as operators

from .....models.inputs import UNNAMED, Input
from ....errors import BadParameters, Unsupported
from ...external.building import unknown_name
from .built import Built, built, not_installed

FRAMES = 16  # of a video
_CHANNELS = 3
_IMAGE = 224  # of models whose weights define no image size
# A torchvision that was built for CUDA declares these operators in a library that a CPU-only PyTorch cannot load, and
# then fails to import. Only models for detection call them.
_OPERATORS = ("torchvision::nms", "torchvision::qnms")
_SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_OTHER_INPUTS = {"detection": "a list of images", "optical_flow": "two images"}


def import_torchvision() -> Any:
    """Return torchvision. Raise Unsupported if it is not installed."""
    try:
        return importlib.import_module("torchvision")
    except ImportError as error:
        raise not_installed("torchvision", error) from error
    except RuntimeError as error:
        if _OPERATORS[0] not in str(error):
            raise
    for operator in _OPERATORS:
        operators.define(operator, _SIGNATURE)
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]  # half imported
    return importlib.import_module("torchvision")


def import_dependent(library: str) -> Any:
    """Return a library that imports torchvision, if it is installed. Raise Unsupported if the library is not."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # also if the user's functions may download
    with suppress(Unsupported):
        import_torchvision()
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise not_installed(library, error) from error


def build(name: str, options: Dict[str, Any]) -> Built:
    """Return the model `name` with random weights; `options` are arguments of its builder.

    Raise BadParameters for an unknown name, and for models whose input is not one array.
    """
    torchvision = import_torchvision()
    models = importlib.import_module("torchvision.models")
    known = models.list_models()
    if name not in known:
        raise unknown_name("torchvision", torchvision.__version__, name, known)
    builder = models.get_model_builder(name)
    family = builder.__module__.split(".")[2]
    if family in _OTHER_INPUTS:
        raise BadParameters(
            "torchvision/%s is not supported: its input is %s, not one tensor" % (name, _OTHER_INPUTS[family])
        )
    given = dict(_without_downloads(builder), **options)
    return Built(built("torchvision/%s" % name, lambda: builder(**given)), {UNNAMED: _input(models, name, family)})


def _without_downloads(builder: Any) -> Dict[str, Any]:
    """Return the arguments with which a builder downloads no weights."""
    parameters = inspect.signature(builder).parameters
    return {name: None for name in ("weights", "weights_backbone") if name in parameters}


def _input(models: Any, name: str, family: str) -> Input:
    """Return the input size of the pretrained weights: (3, height, width), for videos (3, 16, height, width)."""
    weights = list(models.get_model_weights(name))
    transforms = weights[-1].transforms() if weights else None
    size = list(getattr(transforms, "crop_size", None) or getattr(transforms, "resize_size", None) or [_IMAGE])
    height, width = size if len(size) == 2 else (size[0], size[0])
    return Input((_CHANNELS, FRAMES, height, width) if family == "video" else (_CHANNELS, height, width))
