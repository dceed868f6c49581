"""Non-negative least squares for many small problems at once."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from hpcbench.analysis.stats.intervals import Floats


def nonnegative_fits(designs: Floats) -> Floats:
    """Return the x >= 0 with the least |A x - 1| for each matrix A of `designs`, shape (problems, rows, columns).

    The positive elements of the solution are an ordinary least-squares fit of their columns (Lawson and Hanson, 1974,
    "Solving Least Squares Problems", chapter 23). With two or three columns, all subsets of columns can be tried: the
    solution is the best fit without a negative element.
    """
    problems, _, columns = designs.shape
    best, least = np.zeros((problems, columns)), np.full(problems, np.inf)
    for size in range(columns + 1):
        for chosen in map(list, combinations(range(columns), size)):
            fitted = np.zeros_like(best)
            fitted[:, chosen] = _fits(designs[:, :, chosen])
            squares = ((np.einsum("prc,pc->pr", designs, fitted) - 1) ** 2).sum(axis=1)
            better = (fitted >= 0).all(axis=1) & (squares < least)
            best[better], least[better] = fitted[better], squares[better]
    return best


def _fits(designs: Floats) -> Floats:
    """Return the least-squares fits to 1 by QR decomposition; those of dependent columns are not finite."""
    orthogonal, triangle = np.linalg.qr(designs)
    right: Floats = orthogonal.sum(axis=1)
    fitted: Floats = np.zeros_like(right)
    with np.errstate(divide="ignore", invalid="ignore"):
        for place in reversed(range(right.shape[1])):
            known = (triangle[:, place] * fitted).sum(axis=1)
            fitted[:, place] = (right[:, place] - known) / triangle[:, place, place]
    return fitted
