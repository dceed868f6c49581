"""How much longer than its bound a kernel takes: one model for each family of operators.

The logarithm of kernel time over bound is the sum of what all devices share (boosted trees on features without a
dimension), an offset of the device, and, for devices with many rows, trees of the device's own on the rest.

Devices whose rows scatter more than those of the fleet count less: a throttled card shows a clock, not an operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.tables.prediction import Floats
from hpcbench.predict.time.boosted import Trees, fit_trees
from hpcbench.predict.time.families import FEATURES, ROW_WISE

_FEWEST_OWN = 200  # rows of a device for trees of its own
_PSEUDO_ROWS = 1.0  # weight of the fleet against the rows of a device in its offset
_ROW_WISE_DETAIL = ("cache", "rows_per_unit")  # features of row-wise operators that differ by device


@dataclass(frozen=True)
class Size:
    """How much a fit may cost."""

    rounds: int = 200
    own_rounds: int = 120


@dataclass(frozen=True)
class Efficiency:
    """The model of a family."""

    shared: Trees
    offsets: Mapping[str, float]
    own: Mapping[str, Trees]
    rows: Mapping[str, int]  # by device: rows that show the time of their kernel
    spread: float  # standard deviation of the rest within a device

    def predict(self, features: pd.DataFrame, names: pd.Series) -> Floats:
        """Return the logarithm of kernel time over bound for each row of features on the device of this name."""
        found = self.shared.predict(features) + names.map(self.offsets).fillna(0.0).to_numpy(dtype="float64")
        for name, trees in self.own.items():
            of_device = (names == name).to_numpy()
            if of_device.any():
                found[of_device] += trees.predict(features[of_device])
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the model as JSON types."""
        return {
            "shared": self.shared.to_json(),
            "offsets": dict(self.offsets),
            "own": {name: trees.to_json() for name, trees in self.own.items()},
            "rows": dict(self.rows),
            "spread": self.spread,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Efficiency:
        """Return the model that `to_json` described."""
        return cls(
            Trees.from_json(data["shared"]),
            data["offsets"],
            {name: Trees.from_json(each) for name, each in data["own"].items()},
            data["rows"],
            data["spread"],
        )


def fit_efficiency(
    family: str, features: pd.DataFrame, names: pd.Series, target: Floats, weights: Floats, size: Size
) -> Efficiency:
    """Return the model of a family from the logarithms of kernel time over bound, with weights of rows from 0 to 1."""
    shows = weights > 0
    features, names, target, weights = features[shows], names[shows], target[shows], weights[shows]
    offsets = pd.Series(0.0, index=names.unique())
    columns, trust = FEATURES[family], np.ones(len(target))
    leaves, least = (8, 100) if family in ROW_WISE else (31, 20)
    for rounds in (size.rounds // 2, size.rounds):
        offset = names.map(offsets).to_numpy(dtype="float64")
        shared = fit_trees(features, target - offset, weights * trust, columns, rounds, leaves, least)
        rest = pd.Series(target - shared.predict(features), index=names.index)
        offsets, scatter = _effects(rest, names)
        trust = names.map(1.0 / (1.0 + (scatter / scatter.median()) ** 2)).to_numpy(dtype="float64")
    counts = names.value_counts()
    offsets = offsets - offsets.median()
    rest_of_device = rest.to_numpy() - names.map(offsets).to_numpy(dtype="float64")
    own = _own_trees(family, features, names, rest_of_device, weights, size)
    return Efficiency(
        shared=shared,
        offsets=_plain(offsets * counts / (counts + _PSEUDO_ROWS)),
        own=own,
        rows={str(name): int(count) for name, count in counts.items()},
        spread=float(scatter.median()),
    )


def _plain(values: pd.Series) -> dict[str, float]:
    return {str(name): float(value) for name, value in values.items()}


def _effects(rest: pd.Series, names: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Return the median of each device, and the scatter of its rows around it, from their quartiles."""
    groups = rest.groupby(names)
    scatter = (groups.quantile(0.75) - groups.quantile(0.25)) / 1.349  # of a normal distribution
    return groups.median(), scatter.clip(lower=0.01)


def _own_trees(
    family: str, features: pd.DataFrame, names: pd.Series, rest: Floats, weights: Floats, size: Size
) -> dict[str, Trees]:
    columns = (*FEATURES[family], *(_ROW_WISE_DETAIL if family in ROW_WISE else ()))
    found = {}
    for name, count in names.value_counts().items():
        if count < _FEWEST_OWN:
            continue
        of = (names == name).to_numpy()
        found[str(name)] = fit_trees(
            features[of], rest[of], weights[of], tuple(dict.fromkeys(columns)), size.own_rounds, 31, 10
        )
    return found
