"""Kriging over operators: what a simple model misses, from similar operators that were measured.

The logarithm of time over the simple model is a Gaussian process [1, equations 2.22 to 2.24].

[1] C. E. Rasmussen, C. K. I. Williams, "Gaussian processes for machine learning", MIT Press, 2006.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hpcbench.predict.gaussian_process import posterior
from hpcbench.predict.measured.covariance import OF_OPERATORS, Points
from hpcbench.predict.tables.prediction import Floats


@dataclass(frozen=True)
class Kriging:
    """The logarithms of time over the simple model at measured points."""

    points: Points
    rest: Floats

    def predict(self, asked: Points) -> tuple[Floats, Floats]:
        """Return the mean and the standard deviation of the logarithm at other points, for new networks."""
        common = OF_OPERATORS.between(asked, self.points, self.points.centre)
        mean, explained = posterior(common, self._precision, self.rest)
        variance = OF_OPERATORS.variance(asked, self.points.centre) - explained
        return mean, np.sqrt(np.maximum(variance, 0.0) + OF_OPERATORS.noise**2)

    @cached_property
    def _precision(self) -> Floats:
        """Return the inverse of the covariance of the points with noise."""
        return np.asarray(np.linalg.inv(OF_OPERATORS.measured(self.points)), dtype="float64")

    def to_json(self) -> dict[str, Any]:
        """Return the model as JSON types."""
        return {"points": self.points.to_json(), "rest": np.round(self.rest, 5).tolist()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Kriging:
        """Return the model that `to_json` described."""
        return cls(Points.from_json(data["points"]), np.array(data["rest"], dtype="float64"))
