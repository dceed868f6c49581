"""Build the external model of a case: by its name in a zoo, or by the user's function."""

import importlib
import os
from typing import Any, Dict

import torch
from torch import nn

from .....models.source import FUNCTION, Source
from ....errors import BadModel, Unsupported
from ....workload import user_code
from ...external.building import refuse_weights
from . import of_timm, of_torchvision, of_transformers
from .built import Built, built

_UNSAFE = (
    "weights: '%s' is a pickle file, which requires PyTorch 2.6 or newer (CVE-2025-32434); use a .safetensors file"
)
TORCH = tuple(map(int, torch.__version__.split(".")[:2]))
_LONGEST = 400  # characters of a message with the names of tensors
_SAFE, _PICKLED = (".safetensors",), (".pt", ".pth", ".bin")
# Options of the libraries that load weights themselves.
_OF_WEIGHTS = {
    *("weights", "weights_backbone", "pretrained", "pretrained_backbone", "pretrained_cfg", "pretrained_cfg_overlay"),
    *("checkpoint_path", "cache_dir"),
}


def build(source: Source, parameters: Dict[str, Any]) -> Built:
    """Return the model of a case, with the weights from `weights` if it is set, otherwise with random weights.

    Raise BadModel if the model or its weights cannot be used, and Unsupported if its library is not installed.
    """
    options, weights = parameters["model_options"], parameters["weights"]
    refuse_weights(source, options, _OF_WEIGHTS)
    if source.package == "transformers":
        return of_transformers.build(source.name, options, weights)
    if source.kind == FUNCTION:
        text = parameters["model"]
        function = user_code.function(text, "model")
        made = Built(built(text, lambda: function(**options)), {})
    else:
        zoo = of_torchvision if source.package == "torchvision" else of_timm
        made = zoo.build(source.name, options)
    if weights:
        _load(made.module, weights)
    return made


def _load(module: nn.Module, path: str) -> None:
    """Load the weights of a file, or of the only file with weights in a folder; no pickled objects are loaded."""
    file = _file(path)
    try:
        module.load_state_dict(_state(file))
    except (Unsupported, MemoryError):
        raise
    except Exception as error:
        reason = "cannot be loaded: " + (" ".join(str(error).split())[:_LONGEST] or type(error).__name__)
        if type(error).__name__ == "UnpicklingError":
            reason = "contains objects other than tensors; save a state dict: torch.save(model.state_dict(), ...)"
        raise BadModel("weights: %s %s" % (file, reason), user_code.last_lines(error)) from error


def _file(path: str) -> str:
    if os.path.isfile(path):
        return path
    try:
        names = sorted(name for name in os.listdir(path) if name.endswith((*_SAFE, *_PICKLED)))
    except OSError as error:
        raise BadModel("weights: %s cannot be read: %s" % (path, error.strerror)) from error
    if len(names) != 1:
        found = ", ".join(names) or "none"
        kinds = ", ".join((*_SAFE, *_PICKLED))
        raise BadModel("weights: folder '%s' must contain exactly one file (%s); found: %s" % (path, kinds, found))
    return os.path.join(path, names[0])


def _state(file: str) -> Any:
    if not file.endswith(_SAFE):
        if TORCH < (2, 6):  # CVE-2025-32434: weights_only runs code of a file before PyTorch 2.6
            raise Unsupported(_UNSAFE % file)
        return torch.load(file, map_location="cpu", weights_only=True)
    try:
        safetensors = importlib.import_module("safetensors.torch")
    except ImportError as error:
        raise Unsupported(
            "weights: '%s' requires the package safetensors, which cannot be imported (%s)" % (file, error)
        ) from error
    return safetensors.load_file(file)
