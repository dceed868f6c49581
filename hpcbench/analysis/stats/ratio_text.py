"""Ratios and their intervals as text."""

from __future__ import annotations

import pandas as pd

from hpcbench.analysis.stats.intervals import Interval

UNKNOWN = "unknown"
WIDEST = 1000.0  # ratio of the limits above which an interval is shown as unknown


def times(ratio: float) -> str:
    """Return a ratio with three digits: `1.34x`, `12.3x`, `1,234x` or `0.0049x`; `-` if it is missing."""
    if pd.isna(ratio):
        return "-"
    if 0.0995 <= ratio < 9.995:
        return f"{ratio:.2f}x"
    return f"{ratio:,.0f}x" if 999.5 <= ratio < 1e15 else f"{ratio:.3g}x"


def percent(part: float) -> str:
    """Return a fraction as a percentage: `34 %`."""
    return f"{100 * part:.0f} %"


def says_nothing(low: float, high: float) -> bool:
    """Return whether the limits of an interval are too far apart to be shown as numbers."""
    return low > 0 and high / low > WIDEST


def in_brackets(interval: Interval) -> str:
    """Return a ratio with its interval: `1.34x [1.29, 1.38]`, `1.34x` without limits, `47x [unknown]` if too wide.

    If all of them are 1.00 otherwise, they have four decimals: `1.0031x [1.0021, 1.0042]`.
    """
    if interval.low is None or interval.high is None:
        return times(interval.estimate)
    if says_nothing(interval.low, interval.high):
        return f"{times(interval.estimate)} [{UNKNOWN}]"
    values = (interval.estimate, interval.low, interval.high)
    shown = [times(value) for value in values]
    finer = [f"{value:.4f}x" for value in values]
    if {*shown} == {"1.00x"} and {*finer} != {"1.0000x"}:
        shown = finer
    ratio, low, high = shown
    return f"{ratio} [{low.removesuffix('x')}, {high.removesuffix('x')}]"
