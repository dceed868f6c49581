"""Components of all charts: figures, axes with units and scales, colours, shapes, intervals."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from hpcbench.analysis.cases.labels import cell, label
from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.report.charts import theme
from hpcbench.report.charts.theme import PlotSize
from hpcbench.report.text.units import apart, header_of
from hpcbench.util.text import printable

MAX_TICKS = 12
LONGEST = 48  # characters of a name on an axis or in a legend
LARGEST = 1e300  # largest user-defined number that Vega can draw on an axis
_SPAN = 10.0  # ratio of largest to smallest value from which a scale is logarithmic
_NARROWEST = 0.5  # margin for intervals on a linear axis, as a fraction of the largest value
_NARROWEST_FACTOR = 2.0  # factor for intervals on a logarithmic axis
_UNITS = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "B": ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")),
    "FLOP/s": ((1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"), (1.0, "FLOP/s")),
    "J s": ((1.0, "J s"), (1e-3, "mJ s"), (1e-6, "uJ s"), (1e-9, "nJ s")),
    "J": ((1e3, "kJ"), (1.0, "J"), (1e-3, "mJ"), (1e-6, "uJ"), (1e-9, "nJ")),
}


@dataclass(frozen=True)
class Figure:
    """A chart with its texts: `caption` below it, and `description` as the alternative text."""

    id: str  # file name and HTML id: lower-case letters, digits and hyphens
    title: str
    caption: str
    description: str
    draw: Callable[[PlotSize], alt.TopLevelMixin]


@dataclass(frozen=True)
class Measure:
    """An axis of numbers: values are divided by `factor` to be in `unit`."""

    title: str
    unit: str
    factor: float
    is_log: bool

    @property
    def scale(self) -> alt.Scale:
        """Return the scale of the axis without a domain."""
        return alt.Scale(type="log", nice=False, padding=10) if self.is_log else alt.Scale(zero=False, nice=True)

    def scale_of(self, values: pd.Series[float], low: pd.Series[float], high: pd.Series[float]) -> alt.Scale:
        """Return the scale with the domain of `reach`; the values must be in the unit of the axis."""
        scale = self.scale
        scale.domain = reach(values, low, high, is_log=self.is_log)
        return scale


def measure(title: str, unit: str, values: Sequence[float] | pd.Series[Any], *, log: bool | None = None) -> Measure:
    """Return the axis of values in `unit`, with a scaled unit; logarithmic from a factor of 10 on, or as `log`."""
    known = np.asarray(pd.Series(values).dropna(), dtype=np.float64)
    known = known[np.isfinite(known)]
    typical = float(np.median(np.abs(known))) if known.size else 1.0
    units = _UNITS.get(unit, ((1.0, unit),))
    factor, shown = next((each for each in units if typical >= each[0]), units[-1])
    positive = bool(known.size) and float(known.min()) > 0
    is_log = positive and (float(known.max()) / float(known.min()) >= _SPAN if log is None else log)
    name = shortened(title)
    return Measure(f"{name} ({shown})" if shown else name, shown, factor, is_log)


def reach(values: pd.Series[float], low: pd.Series[float], high: pd.Series[float], *, is_log: bool) -> list[float]:
    """Return the limits of an axis for values and their intervals.

    An interval that extends further from all values than their range is clipped: it would leave no room for the rest.
    """
    least, most = values.min(), values.max()
    below, above = pd.concat([values, low]).min(), pd.concat([values, high]).max()
    if is_log:
        factor = max(most / least, _NARROWEST_FACTOR)
        return [float(max(below, least / factor)), float(min(above, most * factor))]
    span = max(most - least, _NARROWEST * max(abs(least), abs(most)))
    return [float(max(below, least - span)), float(min(above, most + span))]


def numbered(words: str, number: int) -> str:
    """Return words as a file name with a number, since user-defined names may have no valid characters."""
    return f"{slug(words)}-{number}"


def slug(words: str) -> str:
    """Return words as a file name of lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:60].rstrip("-") or "figure"


def measured(quantity: Quantity, frame: pd.DataFrame) -> Measure:
    """Return the axis of a quantity of the cases in `frame`."""
    return measure(quantity.title, quantity.unit, frame[quantity.column])


def best_first(cases: pd.DataFrame, quantity: Quantity) -> pd.DataFrame:
    """Return the cases with a value of the quantity, best first."""
    known = cases[cases[quantity.column].notna()]
    return known.sort_values(quantity.column, ascending=not quantity.more_is_better, kind="stable")


def with_limits(frame: pd.DataFrame, quantity: Quantity, axis: Measure) -> pd.DataFrame:
    """Return a quantity in the unit of the axis as `value`, `low` and `high`; NaN limits unless both are finite."""
    low, high = (frame[name] if name in frame else pd.Series(np.nan, index=frame.index) for name in quantity.limits)
    known = {"value": frame[quantity.column], "low": low, "high": high}
    found = pd.DataFrame({name: _rounded(column.astype(float) / axis.factor) for name, column in known.items()})
    found = found.replace([np.inf, -np.inf], np.nan)
    return found.assign(
        **{name: found[name].where(found[["low", "high"]].notna().all(axis=1)) for name in ("low", "high")}
    )


def _rounded(values: pd.Series[float]) -> pd.Series[float]:
    """Return values rounded to nine digits, since rounding errors would separate equal values."""
    return values.map(lambda value: float(f"{value:.9g}"))


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return text in one printable line of at most `longest` characters."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def title_of(column: str) -> str:
    """Return the title of a column for an axis or a legend."""
    return shortened(header_of(column))


def names(values: pd.Series[Any]) -> pd.Series[str]:
    """Return values as short names for axes and legends, each distinct after shortening."""
    whole = values.map(cell)
    short = whole.map(shortened)
    numbered = {text: place for place, text in enumerate(dict.fromkeys(whole), 1)}
    clashing = whole.groupby(short).transform("nunique") > 1
    return short.where(~clashing, "#" + whole.map(numbered).astype(str) + " " + short)


def case_names(cases: pd.DataFrame, shown: Sequence[str]) -> pd.Series[str]:
    """Return short unique names of the cases; the value alone if one column identifies them."""
    if len(shown) == 1:
        return names(cases[shown[0]])
    return names(pd.Series([label(case, list(shown)) for _, case in cases.iterrows()], index=cases.index))


def in_order(values: pd.Series[str]) -> list[str]:
    """Return the distinct values: sorted if they are numbers, otherwise in the order of appearance."""
    distinct = list(dict.fromkeys(values))
    try:
        return sorted(distinct, key=float)
    except ValueError:
        return distinct


def is_numeric(values: pd.Series[Any]) -> bool:
    """Return whether all values are numbers that fit on an axis."""
    return all(map(_has_place, values))


def _has_place(value: Any) -> bool:
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return is_number and -LARGEST < value < LARGEST


def is_geometric(values: pd.Series[Any]) -> bool:
    """Return whether numbers increase by about equal factors, such as 1, 2, 4, 8."""
    distinct = np.unique(np.asarray(values, dtype=np.float64))
    if distinct.size < 3 or distinct[0] <= 0:
        return False
    logs, steps = np.diff(np.log(distinct)), np.diff(distinct)
    return bool(logs.std() / logs.mean() < steps.std() / steps.mean())


def measured_column(column: str, values: pd.Series[Any]) -> Measure:
    """Return the axis of a numeric column, with the unit of the suffix of its name."""
    return measure(*apart(column), values)


def x_of_axis(across: Measure, values: pd.Series[Any]) -> alt.X:
    """Return the horizontal axis of the field `x`, with a tick per value of a parameter."""
    if across.unit:
        return alt.X("x:Q", title=across.title, scale=across.scale)
    distinct = sorted(set(np.asarray(values, dtype=np.float64)))
    ticks = alt.Axis(values=distinct, format="~r") if len(distinct) <= MAX_TICKS else alt.Axis(format="~r")
    room: dict[str, Any] = {"nice": False, "padding": 12}
    scale = alt.Scale(type="log", base=2, **room) if is_geometric(values) else alt.Scale(zero=False, **room)
    return alt.X("x:Q", title=across.title, scale=scale, axis=ticks)


def colour(column: str, values: pd.Series[str], *, legend: bool = True) -> alt.Color:
    """Return the encoding of the field `colour`; frameworks have fixed colours."""
    domain = in_order(values)
    shown = alt.Legend(title=title_of(column)) if legend else None
    frameworks = [name.split(" ")[0].removeprefix("framework=") for name in domain]
    if all(name in theme.OF_FRAMEWORK for name in frameworks):
        scale = alt.Scale(domain=domain, range=[theme.OF_FRAMEWORK[name] for name in frameworks])
    elif len(domain) <= len(theme.COLOURS):
        scale = alt.Scale(domain=domain, range=list(theme.COLOURS[: len(domain)]))
    else:
        scale = alt.Scale(domain=domain, scheme="turbo")
    return alt.Color("colour:N", scale=scale, legend=shown, sort=domain)


def shape(column: str, values: pd.Series[str]) -> alt.Shape:
    """Return shapes for the field `colour`, which distinguish series in greyscale."""
    domain = in_order(values)
    scale = alt.Scale(domain=domain, range=_for_each(domain, theme.SHAPE_OF_FRAMEWORK, theme.SHAPES))
    return alt.Shape("colour:N", scale=scale, legend=alt.Legend(title=title_of(column)), sort=domain)


def gradient() -> alt.Legend:
    """Return the legend of a colour gradient, with room for the labels at its ends."""
    return alt.Legend(padding=10, tickCount=4, labelOverlap="greedy", labelSeparation=8)


def dashes(values: pd.Series[str]) -> alt.StrokeDash:
    """Return dash patterns for the field `colour`.

    The domain is reversed, since Vega-Lite merges legends of equal domains and would dash the outlines of symbols.
    """
    domain = in_order(values)
    patterns = _for_each(domain, theme.DASH_OF_FRAMEWORK, theme.DASHES)
    return alt.StrokeDash("colour:N", scale=alt.Scale(domain=domain[::-1], range=patterns[::-1]), legend=None)


def _for_each(domain: list[str], of_framework: Mapping[str, Any], others: Sequence[Any]) -> list[Any]:
    """Return the entry of each framework if all names are frameworks, otherwise `others` in turn."""
    if set(domain) <= set(of_framework):
        return [of_framework[name] for name in domain]
    return [others[place % len(others)] for place in range(len(domain))]


def known_limits(chart: Any) -> Any:
    """Return the chart without rows that lack an interval, which Vega would draw from zero."""
    return chart.transform_filter("isValid(datum.low) && isValid(datum.high)")


def sized(chart: Any, place: PlotSize, height: int | None = None) -> Any:
    """Return the chart with the size of a single chart of this PlotSize, or a given height in pixels."""
    chart = chart.properties(height=height or place.height, width="container" if place.fluid else place.width)
    return chart if place.fluid else chart.properties(autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))


def faceted(chart: Any, place: PlotSize, column: str, values: pd.Series[str]) -> Any:
    """Return one chart per value of the field `facet`, side by side with equal scales."""
    count = values.nunique()
    columns = min(3 if place.theme == "screen" else 2, count)
    width, height = place.facet(columns)
    header = alt.Facet("facet:N", title=title_of(column), sort=in_order(values))
    spacing = 12 if place.theme == "paper" else 20
    return chart.properties(width=width, height=height).facet(header, columns=columns, spacing=spacing)
