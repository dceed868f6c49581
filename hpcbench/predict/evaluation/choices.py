"""Choices that predictions lead to: the order of two devices, and the best device, clock or power limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

CLOSE = 1.2  # ratio of the measurements of a close pair
WITHIN = 1.02  # a choice is right if it costs up to 2 % more than the best one
BEST = "best of devices and states"  # question of a choice
_WORK = ["network", "phase", "data", "batch_size", "sequence_length", "new_tokens", "image_size", "optimizer", "unit"]
_MODE = ["dtype", "kv_dtype", "layout", "execution", "library", "list_id"]
_STATE = ["clock_mhz", "power_limit_w"]


@dataclass(frozen=True)
class Choice:
    """How often choices by predictions are right. `regret` is the mean additional cost in percent, NaN for pairs."""

    file: str
    quantity: str
    question: str
    choices: int
    right: float  # fraction
    regret: float = float("nan")
    worst_regret: float = float("nan")


def choices(scored: pd.DataFrame) -> list[Choice]:
    """Return the choices that predictions of networks allow, per file and quantity, compared with measurements.

    Only rows with a measurement and a prediction count; for clocks and power limits, a `relative` prediction suffices.
    Less time, power or energy is better.
    """
    rows = scored[scored["measured"].notna() & scored["network"].notna()]
    if "relative" in rows:
        rows = rows.assign(rank=rows["predicted"].fillna(rows["relative"]))
    else:
        rows = rows.assign(rank=rows["predicted"])
    found: list[Choice] = []
    for (file, quantity), every in rows.groupby(["file", "quantity"], sort=False):
        if str(quantity).startswith(("power", "forward", "backward")):
            continue
        group, ranked = every[every["predicted"].notna()], every[every["rank"].notna()]
        found += _pairs(str(file), str(quantity), group)
        for question, state, fixed in (
            ("best clock", "clock_mhz", [*_WORK, *_MODE, "device"]),
            ("best power limit", "power_limit_w", [*_WORK, *_MODE, "device"]),
            (BEST, "", _WORK),
        ):
            if not state:
                found += _best(str(file), str(quantity), question, group, fixed)
            elif ranked[state].nunique() > 1 and str(quantity).startswith("energy"):
                found += _best(str(file), str(quantity), question, ranked, fixed)
    return found


def _pairs(file: str, quantity: str, rows: pd.DataFrame) -> Iterator[Choice]:
    """Yield how many pairs of devices predictions order right, for the same work, mode and state."""
    correct, close = [], []
    for group in _grouped(rows, [*_WORK, *_MODE, *_STATE]):
        means = group.groupby("device")[["measured", "predicted"]].mean()
        for one, other in combinations(means.to_numpy(), 2):
            ratio = max(one[0], other[0]) / min(one[0], other[0])
            correct.append((one[0] < other[0]) == (one[1] < other[1]))
            close.append(ratio <= CLOSE)
    is_right, is_close = np.array(correct, dtype=bool), np.array(close, dtype=bool)
    if len(is_right):
        yield Choice(file, quantity, "order of two devices", len(is_right), float(is_right.mean()))
    if is_close.any():
        question = f"order of two devices within {CLOSE - 1:.0%}"
        yield Choice(file, quantity, question, int(is_close.sum()), float(is_right[is_close].mean()))


def _best(file: str, quantity: str, question: str, rows: pd.DataFrame, fixed: list[str]) -> Iterator[Choice]:
    """Yield how often the row with the least prediction is best by measurement, within groups of equal `fixed`."""
    costs = [
        float(group["measured"].iloc[int(np.argmin(group["rank"].to_numpy()))] / group["measured"].min())
        for group in _grouped(rows, fixed)
        if len(group) > 1
    ]
    if costs:
        ratios = np.array(costs)
        regret = 100 * (ratios - 1)
        right = float((ratios <= WITHIN).mean())
        yield Choice(file, quantity, question, len(costs), right, float(regret.mean()), float(regret.max()))


def _grouped(rows: pd.DataFrame, columns: list[str]) -> Iterator[pd.DataFrame]:
    for _, group in rows.groupby(columns, dropna=False, sort=False):
        yield group
