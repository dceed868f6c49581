"""LightGBM, imported without scikit-learn."""

from __future__ import annotations

import importlib
import sys
from typing import Any

_OPTIONAL = "sklearn"


def lightgbm() -> Any:
    """Return the module LightGBM. Raise ModuleNotFoundError if it is not installed.

    It imports scikit-learn if that is installed, for an interface that hpcbench does not use. This takes a second of
    CPU time, more than a prediction.
    """
    if _OPTIONAL in sys.modules:
        return importlib.import_module("lightgbm")
    sys.modules[_OPTIONAL] = None  # type: ignore[assignment]  # an import of it fails
    try:
        return importlib.import_module("lightgbm")
    finally:
        del sys.modules[_OPTIONAL]
