"""Ratios of two times that are measured in turn: their median, and the range in which it must lie."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple


class Limits(NamedTuple):
    """The range in which the median of the ratios must lie."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.2f} to {self.high:.2f}"


def row(name: str, ratios: Sequence[float], limits: Limits | None = None) -> bool:
    """Print the median of ratios and their range without the lowest and highest 5 %; return whether it is in limits."""
    middle, ordered = statistics.median(ratios), sorted(ratios)
    cut = len(ordered) // 20
    spread = f"({ordered[cut]:.3f} to {ordered[-1 - cut]:.3f}, n = {len(ordered)})"
    is_good = not limits or limits.low <= middle <= limits.high
    goal = "" if not limits else f"   goal: {limits}" + ("" if is_good else "   MISSED")
    print(f"{name:<44} {middle:>8.3f} x   {spread:<28}{goal}".rstrip(), flush=True)
    return is_good
