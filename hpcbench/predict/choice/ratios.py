"""The ratio of two predictions, with its interval.

Predictions for two devices have errors in common, for example of the network, so that their ratio is more certain than
either of them. Its interval is therefore calibrated on pairs of devices that a fit did not see, by what predicts the
time: a list of operators, or an image network known by its name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from hpcbench.analysis.stats.distributions import student_quantile
from hpcbench.predict.calibration.intervals import Expected
from hpcbench.predict.tables.prediction import LEVEL


@dataclass(frozen=True)
class Candidate:
    """The prediction of one quantity for a device in a state, such as `960 MHz`; the default state is empty.

    `log_value` is the natural logarithm of the value, minus infinity for a price of 0; `half_width` is half of its
    interval as a difference of logarithms.
    """

    device: str
    log_value: float
    half_width: float
    state: str = ""

    @property
    def label(self) -> str:
        """Return the device, and its state if it is not the default: `a100-sxm-80 at 960 MHz`."""
        return f"{self.device} at {self.state}" if self.state else self.device


@dataclass(frozen=True)
class RatioErrors:
    """How far predicted ratios of two devices were off, from so many devices and pairs.

    `factor` is half the width of their interval, relative to that of independent errors of both predictions.
    """

    devices: int
    pairs: int
    factor: float


@dataclass(frozen=True)
class Ratio:
    """A ratio of two predicted values with its interval."""

    value: float
    low: float
    high: float

    @property
    def is_below_one(self) -> bool:
        """Return whether all values of the interval are below 1."""
        return self.high < 1.0


# Of ratios without or with few pairs: that of image networks in the public sets, of which transformers have a half.
OF_RATIOS = Expected(0.35, 3.0)


def ratio_errors(errors: pd.DataFrame, expected: Expected = OF_RATIOS) -> RatioErrors:
    """Return the errors of ratios from the errors of predictions for devices that were left out of the fit.

    `errors` has the columns `error` (logarithm of measured over predicted), `half_width` (of its interval), `cluster`
    (the device) and `item` (what ran: a network, or an operator). The error of a ratio is the difference of the errors
    of two devices for the same item, relative to half the interval of independent errors. Each pair of devices counts
    with the root mean square of its differences, which are assumed to be normal. The degrees of freedom are those of
    the devices, because pairs share them, and of the prior `expected`, which is that of a scaled inverse chi-squared
    distribution (A. Gelman et al., "Bayesian data analysis", 3rd edition (2013), section 2.6).
    """
    return _errors_of(*_squares(errors), expected)


def _errors_of(squares: Sequence[float], devices: int, expected: Expected) -> RatioErrors:
    freedom = max(devices - 1, 0)
    measured = freedom * sum(squares) / max(len(squares), 1)
    scale = math.sqrt((measured + expected.clusters * expected.deviation**2) / (freedom + expected.clusters))
    quantile = student_quantile(freedom + expected.clusters, (1 + LEVEL) / 2)
    return RatioErrors(devices, len(squares), scale * quantile)


def _squares(errors: pd.DataFrame) -> tuple[list[float], int]:
    """Return the mean square of the relative differences of each pair of devices with a common item.

    The second value is the number of devices in such pairs.
    """
    if errors.empty:
        return [], 0
    table = errors.pivot_table(index="item", columns="cluster", values=["error", "half_width"], observed=True)
    found = {
        pair: float((difference**2).mean())
        for pair in combinations(map(str, errors["cluster"].unique()), 2)
        for difference in [_relative_difference(table, *pair)]
        if difference.notna().any()
    }
    return list(found.values()), len({name for pair in found for name in pair})


PRIOR_OF_RATIOS = _errors_of((), 0, OF_RATIOS)  # without any pair


def _relative_difference(table: pd.DataFrame, one: str, other: str) -> pd.Series:
    """Return the difference of two devices' errors over half the interval of independent errors, by item."""
    widths = np.hypot(table[("half_width", one)], table[("half_width", other)])
    return (table[("error", one)] - table[("error", other)]) / widths


def ratio(one: Candidate, other: Candidate, errors: RatioErrors | None) -> Ratio:
    """Return the value of `one` over that of `other`; 1 if both are 0.

    The interval is that of independent errors, times the factor of `errors` if they are given. The factor is at most 1.
    """
    if one.log_value == other.log_value == -math.inf:
        return Ratio(1.0, 1.0, 1.0)
    half_width = math.hypot(one.half_width, other.half_width) * min(1.0, errors.factor if errors else 1.0)
    middle = one.log_value - other.log_value
    return Ratio(math.exp(middle), math.exp(middle - half_width), math.exp(middle + half_width))
