"""LightGBM, imported without scikit-learn, and its models as text."""

from __future__ import annotations

import importlib
import sys
from functools import lru_cache
from typing import Any

import numpy as np

_OPTIONAL = "sklearn"
_MOST_KEPT = 64  # models, of up to a megabyte each


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


@lru_cache(maxsize=_MOST_KEPT)
def booster(text: str) -> Any:
    """Return the model of LightGBM's text. Raise ValueError if LightGBM cannot read it."""
    module = lightgbm()
    try:
        return module.Booster(model_str=text)
    except module.basic.LightGBMError as error:
        raise ValueError(f"LightGBM cannot read a model: {error}") from error


def checked(text: str, features: int | None = None) -> str:
    """Return LightGBM's text of a model from a file.

    Raise ValueError if LightGBM cannot read it, or if it does not predict one value from so many features. Without
    LightGBM, it is not checked.
    """
    try:
        model = booster(text)
    except ModuleNotFoundError:
        return text
    count = model.num_feature()
    if features not in (None, count):
        raise ValueError(f"a model of LightGBM has {count} features instead of {features}")
    if model.predict(np.zeros((1, count)), num_threads=1).shape != (1,):
        raise ValueError("a model of LightGBM does not predict one value")
    return text
