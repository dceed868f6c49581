"""Gaussian processes over operators: covariances, and the posterior of operators given measured ones.

C. E. Rasmussen, C. K. I. Williams, "Gaussian processes for machine learning", MIT Press, 2006.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcbench.predict.tables.prediction import Floats


def same(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether each value of one array equals each of the other: a row per value of `one`."""
    return np.asarray(one[:, None] == other[None, :])


def exponential(one: Floats, other: Floats, length: float) -> Floats:
    """Return exp(-distance / length) of each row of one matrix and each of the other (equation 4.18)."""
    squares = np.sum(one**2, axis=1)[:, None] + np.sum(other**2, axis=1)[None, :]
    distance = np.sqrt(np.maximum(squares - 2 * one @ other.T, 0.0))
    return np.asarray(np.exp(-distance / length))


def posterior(cross: Floats, precision: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return the mean at other points, and the variance that the measured values explain (equations 2.23 and 2.24).

    `cross` has the covariance of each other point with each measured one, `precision` the inverse of the covariance of
    measured values with their noise.
    """
    weights = cross @ precision
    return weights @ values, np.asarray(np.sum(weights * cross, axis=1))
