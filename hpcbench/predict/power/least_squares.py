"""Non-negative least squares with a prior, as the fits of power and of time over clocks need them."""

from __future__ import annotations

import numpy as np

from hpcbench.predict.tables.prediction import Floats

_SWEEPS = 500
_TOLERANCE = 1e-8
_REWEIGHTINGS = 15
_SMALLEST_ERROR = 0.02  # relative: smaller errors weigh the same
_LEAST_PRIOR = 1e-6  # of coefficients, which are of order 1: makes the penalty finite


def nonnegative(matrix: Floats, target: Floats, prior: Floats, strength: float) -> Floats:
    """Return the x >= 0 with the least |matrix x - target|^2 + strength |(x - prior) / prior|^2.

    Without a negative coefficient, the solution is that of the normal equations. Otherwise, each coefficient is
    minimized in turn until none of them moves (coordinate descent; the problem is convex). The divisor `prior` is at
    least 1e-6. A prior may be 0 if it is the result of another fit; its coefficient then stays near 0.
    Source: S. J. Wright, "Coordinate descent algorithms", Mathematical Programming 151 (2015).
    """
    penalty = strength / np.maximum(prior, _LEAST_PRIOR) ** 2
    gram = matrix.T @ matrix + np.diag(penalty)
    linear = matrix.T @ target + penalty * prior
    found: Floats = np.linalg.solve(gram, linear).astype("float64")
    if (found >= 0).all():
        return found
    found = np.maximum(found, 0.0)
    for _ in range(_SWEEPS):
        before = found.copy()
        for place in range(len(found)):
            rest = linear[place] - gram[place] @ found + gram[place, place] * found[place]
            found[place] = max(0.0, rest / gram[place, place])
        if float(np.max(np.abs(found - before))) < _TOLERANCE:
            break
    return found


def relative(matrix: Floats, target: Floats, prior: Floats, strength: float, weights: Floats) -> Floats:
    """Return the x >= 0 with about the least weighted sum of |log(target / (matrix x))|, with a prior as above.

    Absolute errors of logarithms keep contradictory rows from deciding. They are minimized by reweighted least squares
    of relative errors: P. W. Holland, R. E. Welsch, Communications in Statistics A6 (1977). `weights` sum to the
    number of rows that counts against `strength`.
    """
    found = prior
    for _ in range(_REWEIGHTINGS):
        predicted = np.maximum(matrix @ found, 1e-12)
        error = np.abs(np.log(target / predicted))
        each = weights / np.maximum(error, _SMALLEST_ERROR)
        # The error relative to the geometric mean of both sides is the difference of logarithms to the second order.
        scale = np.sqrt(each) / np.sqrt(target * predicted)
        found = nonnegative(matrix * scale[:, None], target * scale, prior, strength / _SMALLEST_ERROR)
    return found
