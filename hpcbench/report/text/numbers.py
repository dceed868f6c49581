"""Format numbers for terminal, page and papers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pandas as pd

from hpcbench.analysis.cases.quantities import THROUGHPUT, Quantity
from hpcbench.analysis.stats.ratio_text import UNKNOWN, says_nothing, times

_SCALES = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "B": ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB")),
}
_MOST_DECIMALS = 6
_DIGITS = 4  # significant digits of values of very different magnitudes
_WIDE = 1000.0  # ratio of the largest to the smallest value of such a column
SCALED = ("s", "B", "")  # units that formatted values include
PREDICTION_INTERVAL = "90 % PI"  # the heading of columns of `between`, for predictions


def figure(value: float) -> str:
    """Return a number with four digits, or its integer part if that is longer: `0.01234`, `12.35`, `12,346`."""
    if pd.isna(value):
        return "-"
    return f"{value:,.0f}" if 9999.5 <= abs(value) < 1e15 else f"{value:,.4g}"


def duration(seconds: float) -> str:
    """Return a time in seconds with a scaled unit: `1.23 s`, `29.1 ms`, `4.56 us`; `-` for NaN."""
    if pd.isna(seconds):
        return "-"
    for factor, unit in ((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms")):
        if seconds < 999.5 * factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:.0f} s"


def memory(size: Any) -> str:
    """Return a size in bytes with a scaled unit: `8 GiB`, `512 MiB`; `-` for NaN."""
    if pd.isna(size):
        return "-"
    for power, unit in ((20, "MiB"), (30, "GiB")):
        if size < 1023.5 * 2**power:
            return _of_memory(size / 2**power, unit)
    return _of_memory(size / 2**40, "TiB")


def _of_memory(count: float, unit: str) -> str:
    return f"{count:.3g} {unit}" if count < 999.5 else f"{count:.0f} {unit}"


def factor(ratio: float) -> str:
    """Return a ratio with three decimals: `1.034`; `-` for NaN."""
    return "-" if pd.isna(ratio) else f"{ratio:.3f}" if ratio < 1000 else f"{ratio:.3g}"


def percent(part: float) -> str:
    """Return a fraction as a percentage: `2 %`, `0.5 %`."""
    return f"{100 * part:g} %"


def between(low: Any, high: Any, written: Callable[[float], str]) -> str:
    """Return the limits of an interval: `1.22 ms - 4.74 ms`; empty without limits, `unknown` if too wide."""
    if pd.isna(low) or pd.isna(high):
        return ""
    return UNKNOWN if says_nothing(low, high) else f"{written(low)} - {written(high)}"


def formatter(quantity: Quantity) -> Callable[[float], str]:
    """Return the function that formats values of a quantity, with the unit for times and sizes."""
    if quantity.unit == "s":
        return duration
    if quantity.unit == "B":
        return memory
    return times if quantity.column == "speedup" else figure


def column_format(
    quantity: Quantity, values: pd.Series[float], reference: pd.Series[float] | None = None
) -> tuple[str, Callable[[float], str]]:
    """Return the unit and the formatter of a column of values: one unit, and decimals by the smallest value.

    Values of very different magnitudes, and tiny ones, have the same number of significant digits instead. Times and
    sizes have the unit of the median, of the values of `reference` if it is given. The unit is empty for
    ratios.
    """
    known = _scalable(values)
    compared = known if reference is None else _scalable(reference)
    middle = (known if compared.empty else compared).median()
    if known.empty or quantity.column == "speedup":
        return "" if quantity.unit in SCALED else quantity.unit, formatter(quantity)
    scales = _SCALES.get(quantity.unit, ((1.0, quantity.unit),))
    factor, unit = next((each for each in scales if middle >= 0.9995 * each[0]), scales[-1])
    decimals = max(0, 2 - math.floor(math.log10(known.min() / factor)))
    if known.max() > _WIDE * known.min() or decimals > _MOST_DECIMALS:
        return unit, lambda value: _significant(value / factor)
    return unit, lambda value: "-" if pd.isna(value) else f"{value / factor:,.{decimals}f}"


def _scalable(values: pd.Series[float]) -> pd.Series[float]:
    """Return the magnitudes of the values that are neither missing nor 0 nor infinite."""
    known = values.dropna().astype(float).abs()
    return known[(known > 0) & (known < math.inf)]


def rate_format(rates: pd.Series[float]) -> Callable[[float], str]:
    """Return the formatter of rates: one decimal, or significant digits if the smallest rate is below 1."""
    known = rates.dropna().astype(float)
    if known[known > 0].min() < 1:
        return column_format(THROUGHPUT, known)[1]
    return lambda rate: "-" if pd.isna(rate) else f"{rate:,.1f}"


def _significant(value: float) -> str:
    """Return a number with _DIGITS significant digits: `0.0002510`, `260.8`, `12,346`; `-` for NaN."""
    if pd.isna(value):
        return "-"
    text = f"{value:.{_DIGITS - 1}e}"
    decimals = _DIGITS - 1 - int(text.partition("e")[2]) if value and math.isfinite(value) else 0
    return f"{value:,.{max(0, decimals)}f}" if decimals < _DIGITS + _MOST_DECIMALS else text


def value_in_words(quantity: Quantity, value: float) -> str:
    """Return a value with its unit: `4.35 ms`, `30,266 images/s`."""
    written = formatter(quantity)(value)
    return written if quantity.unit in SCALED else f"{written} {quantity.unit}"
