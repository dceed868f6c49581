"""What the mixture of rooflines misses, as gradient boosting on features without dimension.

LightGBM (G. Ke et al., NIPS 2017) on the difference of logarithms, with the absolute error as loss. Its features
describe the network and the conditions, and not the device, so that it carries over to other devices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hpcbench.predict.boosting import booster, checked, lightgbm
from hpcbench.predict.tables.prediction import Floats

_PARAMETERS = {
    "objective": "l1",
    "num_leaves": 12,
    "min_data_in_leaf": 20,
    "learning_rate": 0.05,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "seed": 1,
    "verbose": -1,
    "deterministic": True,
    "force_row_wise": True,
}
_ROUNDS = 150
_FEWEST = 200  # rows for boosting
_THREADS = 1  # more threads wait for each other on a busy machine


@dataclass(frozen=True)
class Correction:
    """Boosted trees as LightGBM's text; empty if there were too few rows."""

    text: str = ""

    @cached_property
    def _trees(self) -> Any:
        return booster(self.text)

    def of(self, features: Floats) -> Floats:
        """Return the correction of the logarithm for each row of features."""
        if not self.text or not len(features):
            return np.zeros(len(features))
        return np.asarray(self._trees.predict(features, num_threads=_THREADS), dtype=np.float64)

    @classmethod
    def from_text(cls, text: str) -> Correction:
        """Return the correction of a text from a file. Raise ValueError if LightGBM cannot read it."""
        return cls(checked(text) if text else "")


def fit_correction(features: Floats, residual: Floats, weights: Floats, rounds: int = _ROUNDS) -> Correction:
    """Return the correction that reduces the absolute residual, after `rounds` trees; none with too few rows."""
    if len(residual) < _FEWEST:
        return Correction()
    data = lightgbm().Dataset(features, residual, weight=weights)
    trees = lightgbm().train({**_PARAMETERS, "num_threads": _THREADS}, data, rounds)
    return Correction(trees.model_to_string())
