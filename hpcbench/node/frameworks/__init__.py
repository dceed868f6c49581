"""One adapter per framework, all behind the interface in base.py. To add one: add its file, and its name here."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .base import Adapter

_MODULES = {
    "pytorch": "pytorch",
    "tensorflow": "tensorflow",
    "keras-torch": "keras_torch",
    "keras-jax": "keras_jax",
    "keras-tensorflow": "keras_tensorflow",
    "jax": "jax",
    "mxnet": "mxnet",
}


def load(framework: str) -> "Adapter":
    """Import the adapter of a framework, and with it the framework. Raises ImportError where it is not installed."""
    module = importlib.import_module("." + _MODULES[framework], __package__)
    adapter: "Adapter" = module.ADAPTER
    return adapter
