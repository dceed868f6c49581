"""Ratios in words."""

from __future__ import annotations

import pandas as pd

from hpcbench.analysis.statistics import Interval


def times(ratio: float) -> str:
    """`1.34x`, `12.3x`, `1,234x`, `0.0049x`."""
    if pd.isna(ratio):
        return "-"
    if 0.0995 <= ratio < 9.995:
        return f"{ratio:.2f}x"
    return f"{ratio:,.0f}x" if 999.5 <= ratio < 1e15 else f"{ratio:.3g}x"


def percent(part: float) -> str:
    """`34 %`."""
    return f"{100 * part:.0f} %"


def in_brackets(interval: Interval) -> str:
    """`1.34x [1.29, 1.38]`; without limits, the ratio alone."""
    if interval.low is None or interval.high is None:
        return times(interval.estimate)
    low, high = (times(limit).removesuffix("x") for limit in (interval.low, interval.high))
    return f"{times(interval.estimate)} [{low}, {high}]"
