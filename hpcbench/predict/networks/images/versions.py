"""Versions of PyTorch as numbers that can be compared."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from hpcbench.predict.tables.prediction import Floats

FUSED_ATTENTION = 2.00  # the first release with scaled_dot_product_attention, whose scores stay in the chip
LATEST = "2.3"  # the newest release that differs from older ones here
_NUMBER = re.compile(r"(\d+)\.(\d+)")
_UNKNOWN = 1.07  # of a library without a version: older than all fused kernels


def versions(library: pd.Series) -> Floats:
    """Return each version as major + minor / 100; an unknown one counts as older than all fused kernels."""
    known = {name: _version(name) for name in library.unique()}
    return library.map(known).to_numpy(dtype="float64")


def _version(name: str) -> float:
    found = _NUMBER.search(name)
    return int(found[1]) + int(found[2]) / 100 if found else _UNKNOWN


def at_least(version: Floats, release: float) -> Floats:
    """Return 1 where a version is not older than a release, otherwise 0."""
    return (version >= release - 1e-9).astype(np.float64)
