"""How far an operator is from those of a fit: the features' distance from their range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.tables.prediction import Floats
from hpcbench.predict.time.families import FEATURES

_TAIL = 0.005  # of the rows at each end that do not count for the range


@dataclass(frozen=True)
class Hull:
    """The range of each feature of a family: lower and upper end, and the standard deviation between them."""

    ranges: Mapping[str, tuple[float, float, float]]

    def distance(self, features: pd.DataFrame) -> Floats:
        """Return how many standard deviations each row is out of the range, as the norm over features; 0 inside."""
        total = np.zeros(len(features))
        for name, (lower, upper, deviation) in self.ranges.items():
            values = features[name].to_numpy(dtype="float64")
            outside = np.maximum(np.maximum(lower - values, values - upper), 0.0)
            total += np.nan_to_num(outside / deviation) ** 2
        return np.sqrt(total)

    def to_json(self) -> dict[str, Any]:
        """Return the hull as JSON types."""
        return {name: list(each) for name, each in self.ranges.items()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Hull:
        """Return the hull that `to_json` described."""
        return cls({name: (each[0], each[1], each[2]) for name, each in data.items()})


def hull(family: str, features: pd.DataFrame) -> Hull:
    """Return the hull of the rows of a family."""
    found = {}
    for name in FEATURES[family]:
        values = features[name].dropna()
        if len(values):
            deviation = max(float(values.std(ddof=0)), 1e-3)
            found[name] = (float(values.quantile(_TAIL)), float(values.quantile(1 - _TAIL)), deviation)
    return Hull(found)
