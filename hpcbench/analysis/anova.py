"""Analysis of variance of repeated measurements: what some factors explain, and whether noise could.

Sums of squares are of type II: what a factor explains beyond all others (Yates, 1934, "The analysis of multiple
classifications with unequal numbers in the different classes", Journal of the American Statistical Association 29;
Langsrud, 2003, "ANOVA for unbalanced data: use type II instead of type III sums of squares", Statistics and Computing
13). They are right where cases are missing, too, and do not depend on the order of the factors. What they are tested
against is how much the repetitions of one case differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc

from hpcbench.analysis.levels import Codes
from hpcbench.analysis.statistics import Floats

_NONE = 1e-9  # of the largest eigenvalue, which is between 1 and the number of factors


class Sum(NamedTuple):
    """A sum of squares and its degrees of freedom."""

    squares: float
    freedom: int

    @property
    def mean(self) -> float:
        return self.squares / self.freedom if self.freedom else 0.0

    def beyond(self, other: Sum) -> Sum:
        return Sum(max(0.0, self.squares - other.squares), self.freedom - other.freedom)


class Measured(NamedTuple):
    """What is needed of all repetitions: for each case the mean, as far as it is from that of all, and their count."""

    means: Floats
    counts: Floats
    between: Sum  # cases
    noise: Sum  # repetitions of the same case

    @property
    def total(self) -> float:
        return self.between.squares + self.noise.squares


def measured(values: Floats, cases: Codes) -> Measured:
    """`values` of the repetitions, and the number of the case of each, which go from 0 on without a gap."""
    centred = values - values.mean()
    counts = np.bincount(cases).astype(np.float64)
    means = np.bincount(cases, weights=centred) / counts
    noise = float(((centred - means[cases]) ** 2).sum())
    between = Sum(float((counts * means**2).sum()), counts.size - 1)
    return Measured(means, counts, between, Sum(noise, values.size - counts.size))


def explained(data: Measured, factors: Sequence[Codes]) -> Sum:
    """What an additive model of the factors explains; each is a level for every case, from 0 on without a gap.

    The normal equations of such a model are tables of how often two levels meet, so that no matrix with a row for each
    case is made. Of factors that are confounded in part, the matrix is singular: its rank is the degrees of freedom.
    """
    if not factors:
        return Sum(0.0, 0)
    blocks = [[_meetings(one, other, data.counts) for other in factors] for one in factors]
    normal = np.block(blocks)
    sums = np.concatenate([np.bincount(codes, weights=data.counts * data.means) for codes in factors])
    scale = 1 / np.sqrt(np.diagonal(normal))
    values, vectors = np.linalg.eigh(normal * scale[:, None] * scale[None, :])
    kept = values > _NONE * values[-1]
    squares = float(((vectors[:, kept].T @ (scale * sums)) ** 2 / values[kept]).sum())
    return Sum(squares, int(kept.sum()) - 1)


def _meetings(one: Codes, other: Codes, counts: Floats) -> Floats:
    """How many repetitions have each level of one factor with each of the other."""
    width = int(other.max()) + 1
    height = int(one.max()) + 1
    found = np.bincount(one * width + other, weights=counts, minlength=height * width)
    return found.astype(np.float64).reshape(height, width)


def f_test(effect: Sum, noise: Sum) -> float:
    """The probability of so large an effect by noise alone (Fisher's F); 1 of an effect without degrees of freedom."""
    if effect.freedom < 1 or effect.squares <= 0:
        return 1.0
    if noise.squares <= 0:
        return 0.0
    return float(fdtrc(effect.freedom, noise.freedom, effect.mean / noise.mean))
