"""How much longer than its bound a kernel takes: one model for each family of operators.

The logarithm of kernel time over bound is the sum of what all devices share (boosted trees on features without a
dimension), effects of the device, and, for devices with many rows, trees of the device's own on the rest.

The shared trees give less weight to a device and data type whose residuals scatter more. Such scatter may come from
throttling: the time then also depends on a clock that the features do not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.tables.prediction import Floats
from hpcbench.predict.time.boosted import Growth, Trees, fit_trees
from hpcbench.predict.time.device_effects import DeviceEffects, fit_effects, no_effects
from hpcbench.predict.time.families import FALLING, FEATURES, NAMED, ROW_WISE, SLOPES

# Assumptions: with half or twice the ridge or the pseudo-rows, the mean error of operators on four left-out devices of
# the public sets changes by at most a fiftieth.
_FEWEST_OWN = 200  # rows of a device for trees of its own
_RIDGE = 10.0  # rows of 0 in each leaf of the trees of all devices, a leaf of which may have rows of one device only
_HIDDEN_WEIGHT = 0.5  # of rows that do not show the time of their kernel
_PSEUDO_ROWS = 1.5  # of other families, against the rows of a family
# Leaves of a tree, and fewest rows of a leaf.
_ROW_WISE_TREES, _TREES = (8, 100), (31, 20)
_OWN_TREES = (31, 10)  # of one device, which has fewer rows
_QUARTILES = 1.349  # between those of a standard normal distribution
_LEAST_SCATTER = 0.01  # of a subject, as a logarithm
_ROW_WISE_DETAIL = ("cache", "rows_per_unit", "function")  # features of row-wise operators that differ by device


@dataclass(frozen=True)
class Size:
    """Rounds of boosting for all devices, and for each device; with 0 of the latter, devices have no own trees."""

    rounds: int = 200
    own_rounds: int = 120


@dataclass(frozen=True)
class Efficiency:
    """The model of a family."""

    shared: Trees
    effects: DeviceEffects
    own: Mapping[str, Trees]
    rows: Mapping[str, int]  # by subject: rows that show the time of their kernel
    spread: float  # standard deviation of the rest within a subject

    def predict(self, features: pd.DataFrame, subjects: pd.Series) -> Floats:
        """Return the logarithm of kernel time over bound for each row of features for its subject."""
        found = self.shared.predict(features) + self.effects.predict(features, subjects)
        for name, trees in self.own.items():
            of_device = (subjects == name).to_numpy()
            if of_device.any():
                found[of_device] += trees.predict(features[of_device])
        return found

    def unknown_fraction(self, subjects: pd.Series) -> Floats:
        """Return how uncertain the offset of each subject remains: 1 without rows, towards 0 with many."""
        counts = np.asarray(subjects.map(dict(self.rows)).fillna(0), dtype="float64")
        return _PSEUDO_ROWS / (counts + _PSEUDO_ROWS)

    def precisions(self) -> frozenset[str]:
        """Return the precisions of the rows that show the time of their kernel."""
        return frozenset(name.split("|")[-1] for name in self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return the model as JSON types."""
        return {
            "shared": self.shared.to_json(),
            "effects": self.effects.to_json(),
            "own": {name: trees.to_json() for name, trees in self.own.items()},
            "rows": dict(self.rows),
            "spread": self.spread,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Efficiency:
        """Return the model that `to_json` described."""
        return cls(
            Trees.from_json(data["shared"]),
            DeviceEffects.from_json(data["effects"]),
            {name: Trees.from_json(each) for name, each in data["own"].items()},
            data["rows"],
            data["spread"],
        )


def fit_efficiency(
    family: str, features: pd.DataFrame, subjects: pd.Series, target: Floats, weights: Floats, size: Size
) -> Efficiency:
    """Return the model of a family from the logarithms of kernel time over bound, with weights of rows from 0 to 1.

    A subject is a device with a data type. Rows of weight 0 do not show the time of their kernel: their target is an
    upper limit. The trees of all devices ignore these rows. The trees of a device use them with the estimate of the
    other terms, or with the limit if it is lower, like censored data in the first step of the EM algorithm
    (A. P. Dempster et al., JRSS B 39, 1977, section 4.2).
    """
    shows = weights > 0
    hidden, of_hidden, largest = features[~shows], subjects[~shows], target[~shows]
    features, subjects, target, weights = _half_named(features[shows]), subjects[shows], target[shows], weights[shows]
    effects = no_effects(features, SLOPES[family])
    leaves, least = _ROW_WISE_TREES if family in ROW_WISE else _TREES
    trust = np.ones(len(target))
    for rounds in (size.rounds // 2, size.rounds):
        growth = Growth(rounds, leaves, least, FALLING.get(family, ()), _RIDGE)
        rest = target - effects.predict(features, subjects)
        shared = fit_trees(features, rest, weights * trust, FEATURES[family], growth)
        rest = target - shared.predict(features)
        effects = fit_effects(rest, weights, features, subjects, effects)
        rest = rest - effects.predict(features, subjects)
        scatter = _scatter(rest, subjects)
        trust = subjects.map(1.0 / (1.0 + (scatter / scatter.median()) ** 2)).to_numpy(dtype="float64")
    counts = {str(name): int(count) for name, count in subjects.value_counts().items()}
    model = Efficiency(shared, effects, {}, counts, float(scatter.median()))
    below = np.minimum(largest - model.predict(hidden, of_hidden), 0.0)
    everything = pd.concat([features, hidden]), pd.concat([subjects, of_hidden]), np.append(rest, below)
    own = _own_trees(family, *everything, np.append(weights, np.full(len(below), _HIDDEN_WEIGHT)), counts, size)
    return replace(model, own=own)


def _half_named(features: pd.DataFrame) -> pd.DataFrame:
    """Return the features without the kernel name of every other row: most operators to predict have no such name."""
    unnamed = np.arange(len(features)) % 2 == 1
    return features.assign(**{name: features[name].mask(unnamed) for name in NAMED})


def _scatter(rest: Floats, subjects: pd.Series) -> pd.Series:
    """Return the standard deviation of the rows of each subject, from their quartiles."""
    groups = pd.Series(rest, index=subjects.index).groupby(subjects)
    return ((groups.quantile(0.75) - groups.quantile(0.25)) / _QUARTILES).clip(lower=_LEAST_SCATTER)


def _own_trees(
    family: str,
    features: pd.DataFrame,
    subjects: pd.Series,
    rest: Floats,
    weights: Floats,
    counts: Mapping[str, int],
    size: Size,
) -> dict[str, Trees]:
    """Return trees for each subject with many rows that show their kernel time; `counts` has the number of these."""
    shared = tuple(name for name in FEATURES[family] if name not in NAMED)
    columns = (*shared, *(_ROW_WISE_DETAIL if family in ROW_WISE else ()))
    found = {}
    for name, count in counts.items():
        if count < _FEWEST_OWN or not size.own_rounds:
            continue
        of = (subjects == name).to_numpy()
        found[name] = fit_trees(
            features[of], rest[of], weights[of], tuple(dict.fromkeys(columns)), Growth(size.own_rounds, *_OWN_TREES)
        )
    return found
