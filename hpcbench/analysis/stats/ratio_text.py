"""Ratios as text."""

from __future__ import annotations

import pandas as pd

from hpcbench.analysis.stats.intervals import Interval

UNKNOWN = "unknown"
_NOTHING = 1000.0  # times the lower limit, an upper one says nothing


def times(ratio: float) -> str:
    """Return `1.34x`, `12.3x`, `1,234x` or `0.0049x`."""
    if pd.isna(ratio):
        return "-"
    if 0.0995 <= ratio < 9.995:
        return f"{ratio:.2f}x"
    return f"{ratio:,.0f}x" if 999.5 <= ratio < 1e15 else f"{ratio:.3g}x"


def percent(part: float) -> str:
    """Return `34 %`."""
    return f"{100 * part:.0f} %"


def says_nothing(low: float, high: float) -> bool:
    """Return whether limits are too far apart to be shown as numbers."""
    return low > 0 and high / low > _NOTHING


def in_brackets(interval: Interval) -> str:
    """Return `1.34x [1.29, 1.38]`; without limits the ratio alone, and `47x [unknown]` if they are too far apart."""
    if interval.low is None or interval.high is None:
        return times(interval.estimate)
    if says_nothing(interval.low, interval.high):
        return f"{times(interval.estimate)} [{UNKNOWN}]"
    low, high = (times(limit).removesuffix("x") for limit in (interval.low, interval.high))
    return f"{times(interval.estimate)} [{low}, {high}]"
