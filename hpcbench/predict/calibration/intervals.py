"""Prediction intervals from the errors of predictions for devices, or networks, that a fit did not see.

The rows of one device share an error, so that they are not exchangeable with those of other devices. An error is
therefore split into the effect of its cluster (a device or a network) and the rest:

- The effects of few clusters have an interval of Student's t, as for a new draw from a normal distribution [1].
- The rest, divided by its expected spread, has a conformal quantile per group, such as a kind of operator [2].

[1] G. J. Hahn, "Factors for calculating two-sided prediction intervals for samples from a normal distribution",
JASA 64 (1969). [2] J. Lei et al., "Distribution-free predictive inference for regression", JASA 113 (2018), 5.2;
groups as in V. Vovk et al., "Algorithmic learning in a random world" (2005), section 4.5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hpcbench.analysis.stats.distributions import student_quantile
from hpcbench.predict.tables.prediction import LEVEL, Floats

_FEWEST = 20  # residuals for a quantile of a group's own; smaller groups use that of all rows
ALL = ""  # the group of rows whose group has no quantile of its own


@dataclass(frozen=True)
class Calibration:
    """Factors of intervals: half the width is hypot(cluster, quantile of the group times the spread)."""

    clusters: int  # number of devices or networks that the errors are from
    cluster: float  # half the interval of the effect of a new cluster, as a difference of logarithms
    quantiles: Mapping[str, float]  # of |error - effect| / spread, by group; that of ALL always exists

    def half_width(self, group: pd.Series, spread: Floats) -> Floats:
        """Return half the width of intervals, as differences of logarithms, for rows of these groups and spreads."""
        factor = group.map(self.quantiles).fillna(self.quantiles[ALL]).to_numpy(dtype="float64")
        return np.hypot(self.cluster, factor * spread)


@dataclass(frozen=True)
class Expected:
    """The prior of effects of clusters: a standard deviation, as certain as an estimate from so many clusters."""

    deviation: float
    clusters: float


_NOTHING = Expected(0.0, 0.0)
# Effects of devices on the time of networks, as a logarithm: the public sets have too few devices to show their spread.
OF_DEVICES = Expected(0.2, 4.0)
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
    by_cluster = errors.groupby("cluster", observed=True)["error"]
    effects = by_cluster.median()
    has_effects = shared and len(effects) + expected.clusters > 1
    rest = errors["error"] - (errors["cluster"].map(effects) if has_effects else 0.0)
    scores = (rest.abs() / errors["spread"]).to_numpy()
    weights = 1.0 / by_cluster.transform("size").to_numpy()
    groups = {
        str(name): _quantile(scores[places], weights[places])
        for name, places in errors.groupby("group", observed=True).indices.items()
        if len(places) >= _FEWEST
    }
    cluster = new_draw(effects.to_numpy(), expected) if has_effects else 0.0
    return Calibration(len(effects), cluster, {**groups, ALL: _quantile(scores, weights)})


def new_draw(effects: Floats, expected: Expected) -> float:
    """Return half the interval of a new effect around 0, the mean that predictions assume (Hahn 1969, for k = 1).

    The expected variance is that of a scaled inverse chi-squared distribution, with which the new effect has a Student
    distribution again (A. Gelman et al., "Bayesian data analysis", 3rd edition (2013), section 2.6).
    """
    count = len(effects) + expected.clusters
    variance = (float(np.sum(effects**2)) + expected.clusters * expected.deviation**2) / count
    return math.sqrt(variance * (1 + 1 / count)) * student_quantile(count, (1 + LEVEL) / 2)


def _quantile(scores: Floats, weights: Floats) -> float:
    """Return the weighted conformal quantile: that of the scores and one more, which is infinite.

    With too few scores for the level, return the largest one.
    """
    order = np.argsort(scores)
    cumulated = np.cumsum(weights[order])
    total = cumulated[-1] * (1 + 1 / len(scores))
    place = int(np.searchsorted(cumulated, LEVEL * total))
    return float(scores[order][min(place, len(scores) - 1)])
