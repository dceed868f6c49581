"""Boosted trees as text: LightGBM's own format, in which a model is saved and loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.boosting import booster, checked, lightgbm
from hpcbench.predict.tables.prediction import Floats

_PARAMETERS = {
    "objective": "huber",
    "alpha": 0.2,
    "learning_rate": 0.08,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "verbose": -1,
    "seed": 0,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
}
_NOT_NEEDED = (
    *("split_gain=", "internal_value=", "internal_weight=", "internal_count="),
    *("leaf_weight=", "leaf_count=", "tree_sizes="),
)


@dataclass(frozen=True)
class Growth:
    """How trees grow: rounds, leaves of a tree, fewest rows of a leaf, features with which the value falls, and ridge.

    The ridge counts as so many more rows of each leaf, whose value is 0.
    """

    rounds: int
    leaves: int
    least: int
    falling: tuple[str, ...] = ()
    ridge: float = 0.0


@dataclass(frozen=True)
class Trees:
    """A fitted model: the names of its features, and LightGBM's text."""

    names: tuple[str, ...]
    text: str

    @cached_property
    def _booster(self) -> Any:
        return booster(self.text)

    def predict(self, features: pd.DataFrame) -> Floats:
        """Return the value for each row of features."""
        if not len(features):
            return np.empty(0)
        return np.asarray(self._booster.predict(_matrix(features, self.names), num_threads=1), dtype="float64")

    def to_json(self) -> dict[str, Any]:
        """Return the model as JSON types."""
        return {"names": list(self.names), "text": self.text}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Trees:
        """Return the model that `to_json` described. Raise ValueError if LightGBM cannot read it."""
        return cls(tuple(data["names"]), checked(data["text"], len(data["names"])))


def fit_trees(features: pd.DataFrame, target: Floats, weights: Floats, names: Sequence[str], growth: Growth) -> Trees:
    """Return trees that minimise the weighted Huber loss, with squares up to 0.2 and absolute values above.

    The value never grows with a feature in `growth.falling`.
    """
    data = lightgbm().Dataset(_matrix(features, names), target, weight=weights)
    parameters = {
        **_PARAMETERS,
        "num_leaves": growth.leaves,
        "min_data_in_leaf": growth.least,
        "lambda_l2": growth.ridge,
        "monotone_constraints": [-int(name in growth.falling) for name in names],
    }
    booster = lightgbm().train(parameters, data, num_boost_round=growth.rounds)
    return Trees(tuple(names), _needed(booster.model_to_string()))


def _needed(text: str) -> str:
    """Return the lines of LightGBM's text that predictions need, 60 % of the text."""
    trees, end, _ = text.partition("end of trees")
    return "\n".join(line for line in trees.split("\n") if not line.startswith(_NOT_NEEDED)) + end + "\n"


def _matrix(features: pd.DataFrame, names: Sequence[str]) -> Floats:
    return features[list(names)].to_numpy(dtype="float64")
