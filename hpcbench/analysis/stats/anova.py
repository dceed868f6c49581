"""Analysis of variance of repeated measurements: sums of squares of factors, tested against the noise of runs.

Sums of squares are of type II: the contribution of a factor beyond all others (Yates, 1934, "The analysis of multiple
classifications with unequal numbers in the different classes", Journal of the American Statistical Association 29;
Langsrud, 2003, "ANOVA for unbalanced data: use type II instead of type III sums of squares", Statistics and Computing
13). They are valid with missing cases and do not depend on the order of the factors.

Blocks are projected out first: the residual of a factor explains its whole contribution beyond the blocks (Frisch and
Waugh, 1933, "Partial time regressions as compared with individual trends", Econometrica 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hpcbench.analysis.stats.distributions import f_tail
from hpcbench.analysis.stats.factor_levels import Codes
from hpcbench.analysis.stats.intervals import Floats

_NONE = 1e-9  # tolerance for zero eigenvalues, which range from 0 to the number of factors


class Sum(NamedTuple):
    """A sum of squares and its degrees of freedom."""

    squares: float
    freedom: int

    @property
    def mean(self) -> float:
        """Return the mean square; 0 without degrees of freedom."""
        return self.squares / self.freedom if self.freedom else 0.0

    def beyond(self, other: Sum) -> Sum:
        """Return the difference to `other` in squares, at least 0, and in degrees of freedom."""
        return Sum(max(0.0, self.squares - other.squares), self.freedom - other.freedom)


class CaseMeans(NamedTuple):
    """The sufficient statistics of the runs: mean of each case relative to its block, count and block."""

    means: Floats
    counts: Floats
    blocks: Codes
    between: Sum  # between cases of the same block
    noise: Sum  # between runs of the same case

    @property
    def total(self) -> float:
        """Return the total sum of squares."""
        return self.between.squares + self.noise.squares


def case_means(values: Floats, cases: Codes, blocks: Codes | None = None) -> CaseMeans:
    """Return the statistics of `values`, one per run, given the case of each and the block of each case.

    Cases and blocks are numbered from 0 without gaps. By default, all cases are in one block.
    """
    counts = np.bincount(cases).astype(np.float64)
    blocks = np.zeros(counts.size, dtype=np.intp) if blocks is None else blocks
    inside = blocks[cases]
    sizes = np.bincount(inside)
    centred = values - (np.bincount(inside, weights=values) / sizes)[inside]
    means = np.bincount(cases, weights=centred) / counts
    noise = float(((centred - means[cases]) ** 2).sum())
    between = Sum(float((counts * means**2).sum()), counts.size - sizes.size)
    return CaseMeans(means, counts, blocks, between, Sum(noise, values.size - counts.size))


def explained(data: CaseMeans, factors: Sequence[Codes]) -> Sum:
    """Return the sum of squares that an additive model of the factors explains within blocks; codes start at 0.

    The normal equations are built from the contingency tables of pairs of factors, so that a design matrix with a row
    per case is not needed. If factors are confounded with each other or with blocks, the matrix is singular: its rank
    is the degrees of freedom.
    """
    if not factors:
        return Sum(0.0, 0)
    together = np.block([[_meetings(one, other, data.counts) for other in factors] for one in factors])
    in_blocks = np.concatenate([_meetings(codes, data.blocks, data.counts) for codes in factors])
    normal = together - (in_blocks / np.bincount(data.blocks, weights=data.counts)) @ in_blocks.T
    sums = np.concatenate([np.bincount(codes, weights=data.counts * data.means) for codes in factors])
    scale = 1 / np.sqrt(np.diagonal(together))
    values, vectors = np.linalg.eigh(normal * scale[:, None] * scale[None, :])
    kept = values > _NONE
    squares = float(((vectors[:, kept].T @ (scale * sums)) ** 2 / values[kept]).sum())
    return Sum(squares, int(kept.sum()))


def _meetings(one: Codes, other: Codes, counts: Floats) -> Floats:
    """Return the contingency table of two factors: the number of runs for each pair of levels."""
    width = int(other.max()) + 1
    height = int(one.max()) + 1
    found = np.bincount(one * width + other, weights=counts, minlength=height * width)
    return found.astype(np.float64).reshape(height, width)


def f_test(effect: Sum, noise: Sum) -> float:
    """Return the p-value of an effect by Fisher's F test; 1 for an effect without degrees of freedom."""
    if effect.freedom < 1 or effect.squares <= 0:
        return 1.0
    if noise.squares <= 0:
        return 0.0
    return f_tail(effect.freedom, noise.freedom, effect.mean / noise.mean)
