"""The best clock or power limit among predictions, and what a choice costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

ENERGY, TIME = "energy_j", "time_s"


def best_clock(predicted: pd.DataFrame, slowest: float | None = None, quantity: str = ENERGY) -> float:
    """Return the clock in MHz with the least predicted `quantity`.

    `predicted` has the columns `clock_mhz`, `time_s` and `energy_j`. With `slowest`, only clocks whose time is at most
    this many times the shortest count. Raise ValueError if no row has a prediction.
    """
    return _best(predicted, "clock_mhz", slowest, quantity)


def best_limit(predicted: pd.DataFrame, slowest: float | None = None, quantity: str = ENERGY) -> float:
    """Return the power limit in watts with the least predicted `quantity`.

    `predicted` has the columns `power_limit_w`, `time_s` and `energy_j`; they may be relative to one limit. With
    `slowest`, only limits whose time is at most this many times the shortest count. Raise ValueError as `best_clock`.
    """
    return _best(predicted, "power_limit_w", slowest, quantity)


def regret(measured: Sequence[float], predicted: Sequence[float]) -> float:
    """Return how much more the choice by prediction costs than the best one, as a fraction of the best."""
    real = np.asarray(measured, dtype="float64")
    chosen = real[int(np.nanargmin(np.asarray(predicted, dtype="float64")))]
    return float(chosen / np.nanmin(real) - 1.0)


def _best(predicted: pd.DataFrame, setting: str, slowest: float | None, quantity: str) -> float:
    usable = predicted[predicted[quantity].notna()]
    if usable.empty:
        raise ValueError(f"no prediction of {quantity} for any {setting}: check the reasons of the predictions")
    if slowest is not None:
        usable = usable[usable[TIME] <= slowest * usable[TIME].min()]
    place = int(np.argmin(usable[quantity].to_numpy(dtype="float64")))
    return float(usable[setting].to_numpy(dtype="float64")[place])
