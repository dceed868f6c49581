"""The ratio of two predictions, with its interval.

Predictions for two devices have errors in common, for example of the network, so that their ratio is more certain than
either of them. Its interval is therefore calibrated on pairs of devices that a fit did not see.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import pandas as pd

from hpcbench.analysis.stats.distributions import student_quantile
from hpcbench.predict.tables.prediction import LEVEL


@dataclass(frozen=True)
class Candidate:
    """The prediction of one quantity for a device in a state, such as `960 MHz`; the default state is empty.

    `log_value` is the natural logarithm of the value, `half_width` half of its interval as a difference of logarithms.
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
    """How far predicted ratios of two devices were off: half of their interval, from so many devices and pairs."""

    devices: int
    pairs: int
    half_width: float


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


def ratio_errors(errors: pd.DataFrame, level: float = LEVEL) -> RatioErrors | None:
    """Return the errors of ratios from the errors of predictions for devices that were left out of the fit.

    `errors` has the columns `error` (logarithm of measured over predicted), `cluster` (the device) and `item` (what
    ran: a network, or an operator). The error of a ratio is the difference of the errors of two devices for the same
    item. Each pair of devices counts with the root mean square of its differences, which are assumed to be normal.
    The degrees of freedom are those of the devices, because pairs share them. Return None without a pair.
    """
    by_item = errors.pivot_table(index="item", columns="cluster", values="error", aggfunc="median", observed=True)
    differences = (by_item[one] - by_item[other] for one, other in combinations(by_item.columns, 2))
    squares = [float((each**2).mean()) for each in differences if each.notna().any()]
    if not squares:
        return None
    devices = len(by_item.columns)
    scale = math.sqrt(sum(squares) / len(squares))
    return RatioErrors(devices, len(squares), scale * student_quantile(devices - 1, (1 + level) / 2))


def ratio(one: Candidate, other: Candidate, errors: RatioErrors | None) -> Ratio:
    """Return the value of `one` over that of `other`.

    The interval is that of independent errors, or of `errors` if it is narrower: they are of devices that a fit did not
    see, and predictions for others can only be more certain.
    """
    independent = math.hypot(one.half_width, other.half_width)
    half_width = min(independent, errors.half_width) if errors else independent
    middle = one.log_value - other.log_value
    return Ratio(math.exp(middle), math.exp(middle - half_width), math.exp(middle + half_width))
