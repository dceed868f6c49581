"""Prediction intervals from the errors of predictions for devices, or networks, that a fit did not see.

The rows of one device share an error, so that they are not exchangeable with those of other devices. An error is
therefore split into the effect of its cluster (a device or a network) and the rest:

- The effects of few clusters have an interval of Student's t, as for a new draw from a normal distribution [1]. A
  cluster has one effect, or one in each group: a device may be slow for one kind of operator alone.
- The rest, divided by its expected spread, has a conformal quantile per group, such as a kind of operator [2].

[1] G. J. Hahn, "Factors for calculating two-sided prediction intervals for samples from a normal distribution",
JASA 64 (1969). [2] J. Lei et al., "Distribution-free predictive inference for regression", JASA 113 (2018), 5.2;
groups as in V. Vovk et al., "Algorithmic learning in a random world" (2005), section 4.5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from hpcbench.analysis.stats.distributions import student_quantile
from hpcbench.predict.tables.prediction import LEVEL, Floats

_FEWEST = 20  # residuals for a quantile of a group's own; smaller groups use that of all rows
ALL = ""  # the group of rows whose group has no quantile of its own


@dataclass(frozen=True)
class Calibration:
    """Factors of intervals: half the width is hypot(effect, quantile of the group times the spread).

    The effect is that of the group, or `cluster` for groups without one.
    """

    clusters: int  # number of devices or networks that the errors are from
    cluster: float  # half the interval of the effect of a new cluster, as a difference of logarithms
    quantiles: Mapping[str, float]  # of |error - effect| / spread, by group; that of ALL always exists
    effects: Mapping[str, float] = field(default_factory=dict)  # as `cluster`, by group

    def half_width(self, group: pd.Series, spread: Floats) -> Floats:
        """Return half the width of intervals, as differences of logarithms, for rows of these groups and spreads."""
        factor = group.map(self.quantiles).fillna(self.quantiles[ALL]).to_numpy(dtype="float64")
        effect = group.map(self.effects).fillna(self.cluster).to_numpy(dtype="float64")
        return np.hypot(effect, factor * spread)


@dataclass(frozen=True)
class Expected:
    """The prior of effects of clusters: a standard deviation, as certain as an estimate from so many clusters."""

    deviation: float
    clusters: float


_NOTHING = Expected(0.0, 0.0)
# Effects of devices on the time of networks, as a logarithm: the public sets have too few devices to show their spread.
OF_DEVICES = Expected(0.2, 4.0)
# Effects of devices on the time of a family of operators, likewise: rounded from the public sets.
OF_DEVICES_ON_OPERATORS = Expected(0.15, 4.0)
# Effects of vendors on the time of operators, likewise: with one vendor in the data, their spread is unknown.
OF_VENDORS = Expected(0.15, 4.0)


def calibrated(errors: pd.DataFrame, shared: bool = True, expected: Expected = _NOTHING) -> Calibration:
    """Return the calibration from errors of predictions whose cluster was left out of the fit.

    `errors` has the columns `error` (logarithm of measured over predicted), `spread`, `group` and `cluster`. With
    `shared`, the rows of a new cluster share an error; otherwise, the cluster is known, and its effect is in the fit.
    Clusters count equally. The prior `expected` of their effects counts in addition to the errors. Raise ValueError if
    there are no errors.
    """
    if errors.empty:
        raise ValueError("a calibration requires at least one prediction error")
    effects = errors.groupby("cluster", observed=True)["error"].median()
    has_effects = shared and len(effects) + expected.clusters > 1
    rest = errors["error"] - (errors["cluster"].map(effects) if has_effects else 0.0)
    cluster = new_draw(effects.to_numpy(), expected) if has_effects else 0.0
    return Calibration(len(effects), cluster, _quantiles(errors, rest, ["cluster"]))


def calibrated_by_group(errors: pd.DataFrame, expected: Expected) -> Calibration:
    """Return the calibration for a new cluster whose rows share an error in each group.

    The arguments are those of `calibrated`. Clusters count equally in each group. Groups without a quantile of their
    own have the values of `calibrated`.
    """
    every = calibrated(errors, expected=expected)
    keys = ["group", "cluster"]
    medians = errors.groupby(keys, observed=True)["error"]
    quantiles = _quantiles(errors, errors["error"] - medians.transform("median"), keys)
    effects = medians.median()
    draws = {name: new_draw(effects[name].to_numpy(), expected) for name in quantiles if name != ALL}
    return Calibration(every.clusters, every.cluster, {**quantiles, ALL: every.quantiles[ALL]}, draws)


def new_draw(effects: Floats, expected: Expected) -> float:
    """Return half the interval of a new effect around 0, the mean that predictions assume (Hahn 1969, for k = 1).

    The expected variance is that of a scaled inverse chi-squared distribution, with which the new effect has a Student
    distribution again (A. Gelman et al., "Bayesian data analysis", 3rd edition (2013), section 2.6).
    """
    count = len(effects) + expected.clusters
    variance = (float(np.sum(effects**2)) + expected.clusters * expected.deviation**2) / count
    return math.sqrt(variance * (1 + 1 / count)) * student_quantile(count, (1 + LEVEL) / 2)


def _quantiles(errors: pd.DataFrame, rest: pd.Series, equal: list[str]) -> dict[str, float]:
    """Return the quantile of what effects leave of the errors over their spread, by group with enough rows, and ALL.

    Values of the columns `equal` count equally.
    """
    scores = (rest.abs() / errors["spread"]).to_numpy()
    weights = 1.0 / errors.groupby(equal, observed=True)["error"].transform("size").to_numpy()
    groups = {
        str(name): _quantile(scores[places], weights[places])
        for name, places in errors.groupby("group", observed=True).indices.items()
        if len(places) >= _FEWEST
    }
    return {**groups, ALL: _quantile(scores, weights)}


def _quantile(scores: Floats, weights: Floats) -> float:
    """Return the weighted conformal quantile: that of the scores and one more, which is infinite.

    With too few scores for the level, return the largest one.
    """
    order = np.argsort(scores)
    cumulated = np.cumsum(weights[order])
    total = cumulated[-1] * (1 + 1 / len(scores))
    place = int(np.searchsorted(cumulated, LEVEL * total))
    return float(scores[order][min(place, len(scores) - 1)])
