"""The adapters of frameworks, with the interface in adapter.py. To add one, add its file and its name here."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .adapter import Adapter

_MODULES = {
    "pytorch": "pytorch.adapter",
    "tensorflow": "tensorflow.adapter",
    "keras-torch": "keras.torch_adapter",
    "keras-jax": "keras.jax_adapter",
    "keras-tensorflow": "keras.tensorflow_adapter",
    "jax": "jax.adapter",
    "mxnet": "mxnet.adapter",
    "onnxruntime": "onnxruntime.adapter",
}


def load(framework: str) -> "Adapter":
    """Import the adapter of a framework, and with it the framework. Raise ImportError if it is not installed."""
    module = importlib.import_module("." + _MODULES[framework], __package__)
    adapter: "Adapter" = module.ADAPTER
    return adapter
