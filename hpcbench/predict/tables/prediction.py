"""The table of predictions: one row per row asked for and quantity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

LEVEL = 0.90  # probability of the prediction intervals
VALUES = ("predicted", "lower", "upper")  # a value with the limits of its interval
TIME, POWER, ENERGY = QUANTITIES = ("time_s", "power_w", "energy_j")
COLUMNS = (*VALUES, "reason", "basis_rows", "basis_devices", "distance")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """Predictions of one quantity before calibration, as arrays of equal length.

    `log_value` is the natural logarithm of the value in SI units, NaN if refused; `spread` is the expected size of its
    error, as a standard deviation of the logarithm, up to a common factor; `reason` is why a row is refused, and is
    empty otherwise.
    """

    log_value: Floats
    spread: Floats
    reason: NDArray[np.object_]


def table(log_value: Floats, half_width: Floats, reason: NDArray[np.object_]) -> pd.DataFrame:
    """Return predictions with their intervals from logarithms; rows with a reason have no values."""
    answered = reason == ""
    values = np.where(answered, log_value, np.nan)
    return pd.DataFrame(
        {
            "predicted": np.exp(values),
            "lower": np.exp(values - half_width),
            "upper": np.exp(values + half_width),
            "reason": reason,
        }
    )
