"""What all charts are made of: a figure, axes with units, scales that fit the values, points with their intervals."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from hpcbench.analysis.naming import cell, label
from hpcbench.analysis.quantities import Quantity
from hpcbench.report.charts import theme
from hpcbench.report.charts.theme import Place
from hpcbench.report.ranking import header_of

MOST_TICKS = 12
LONGEST = 48  # characters of a name on an axis or in a legend
_SPAN = 10.0  # values that lie further apart are drawn on a logarithmic scale
_UNITS = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "B": ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")),
    "FLOP/s": ((1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"), (1.0, "FLOP/s")),
    "J s": ((1.0, "J s"), (1e-3, "mJ s"), (1e-6, "uJ s"), (1e-9, "nJ s")),
    "J": ((1e3, "kJ"), (1.0, "J"), (1e-3, "mJ"), (1e-6, "uJ"), (1e-9, "nJ")),
}


@dataclass(frozen=True)
class Figure:
    """A chart with what is said of it: `caption` below it, `description` instead of it for who cannot see it."""

    id: str  # of its file, and in the page: small letters, digits and hyphens
    title: str
    caption: str
    description: str
    draw: Callable[[Place], alt.TopLevelMixin]


@dataclass(frozen=True)
class Measure:
    """Numbers on an axis in the unit that fits them: values are divided by `factor`."""

    title: str
    factor: float
    is_log: bool

    @property
    def scale(self) -> alt.Scale:
        return alt.Scale(type="log", nice=False, padding=10) if self.is_log else alt.Scale(zero=False, nice=True)


def measure(title: str, unit: str, values: Sequence[float] | pd.Series[Any], *, log: bool | None = None) -> Measure:
    """The axis of such values; logarithmic where they are all above 0 and far apart, unless it is said."""
    known = np.asarray(pd.Series(values).dropna(), dtype=np.float64)
    known = known[np.isfinite(known)]
    typical = float(np.median(np.abs(known))) if known.size else 1.0
    units = _UNITS.get(unit, ((1.0, unit),))
    factor, shown = next((each for each in units if typical >= each[0]), units[-1])
    positive = bool(known.size) and float(known.min()) > 0
    is_log = positive and (float(known.max()) / float(known.min()) >= _SPAN if log is None else log)
    return Measure(f"{title} ({shown})" if shown else title, factor, is_log)


def slug(words: str) -> str:
    """As a file may be called."""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:60].rstrip("-") or "figure"


def measured(quantity: Quantity, frame: pd.DataFrame) -> Measure:
    return measure(quantity.title, quantity.unit, frame[quantity.column])


def with_limits(frame: pd.DataFrame, quantity: Quantity, axis: Measure) -> pd.DataFrame:
    """The values of a quantity in the unit of the axis as `value`, `low` and `high`."""
    low, high = (frame[name] if name in frame else pd.Series(np.nan, index=frame.index) for name in quantity.limits)
    known = {"value": frame[quantity.column], "low": low, "high": high}
    found = pd.DataFrame({name: column.astype(float) / axis.factor for name, column in known.items()})
    return found.replace([np.inf, -np.inf], np.nan)


def names(values: pd.Series[Any]) -> pd.Series[str]:
    """Values as words on an axis or in a legend, short enough to be drawn, and still different from each other: also
    where a legend has no room for more than their beginnings."""
    whole = values.map(cell)
    short = whole.map(lambda text: text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}...")
    numbered = {text: place for place, text in enumerate(dict.fromkeys(whole), 1)}
    clashing = whole.groupby(short).transform("nunique") > 1
    return short.where(~clashing, "#" + whole.map(numbered).astype(str) + " " + short)


def case_names(cases: pd.DataFrame, shown: Sequence[str]) -> pd.Series[str]:
    """What tells each case from the others, short enough to be drawn: the value alone, where it is one column."""
    if len(shown) == 1:
        return names(cases[shown[0]])
    return names(pd.Series([label(case, list(shown)) for _, case in cases.iterrows()], index=cases.index))


def in_order(values: pd.Series[str]) -> list[str]:
    """The different ones: numbers by size, words as they come."""
    distinct = list(dict.fromkeys(values))
    try:
        return sorted(distinct, key=float)
    except ValueError:
        return distinct


def is_numeric(values: pd.Series[Any]) -> bool:
    """Whether an axis of the experiment counts something."""
    known = values.dropna()
    kinds = int | float | np.integer | np.floating
    return len(known) == len(values) and all(isinstance(v, kinds) and not isinstance(v, bool) for v in known)


def is_geometric(values: pd.Series[Any]) -> bool:
    """Whether numbers grow by about equal factors, as 1, 2, 4, 8 do."""
    distinct = np.unique(np.asarray(values, dtype=np.float64))
    if distinct.size < 3 or distinct[0] <= 0:
        return False
    logs, steps = np.diff(np.log(distinct)), np.diff(distinct)
    return bool(logs.std() / logs.mean() < steps.std() / steps.mean())


def x_of_axis(column: str, values: pd.Series[Any]) -> alt.X:
    """The horizontal axis of a parameter that is a number, in the field `x`; each measured value has a tick."""
    distinct = sorted(set(np.asarray(values, dtype=np.float64)))
    ticks = alt.Axis(values=distinct, format="~r") if len(distinct) <= MOST_TICKS else alt.Axis(format="~r")
    scale = alt.Scale(type="log", base=2) if is_geometric(values) else alt.Scale(zero=False, padding=12)
    return alt.X("x:Q", title=header_of(column), scale=scale, axis=ticks)


def colour(column: str, values: pd.Series[str], *, legend: bool = True, title: str | None = None) -> alt.Color:
    """By the field `colour`; frameworks have their own. The legend has the `title`, else that of the column."""
    domain = in_order(values)
    shown = alt.Legend(title=title or header_of(column)) if legend else None
    if set(domain) <= set(theme.OF_FRAMEWORK):
        scale = alt.Scale(domain=domain, range=[theme.OF_FRAMEWORK[name] for name in domain])
    elif len(domain) <= len(theme.COLOURS):
        scale = alt.Scale(domain=domain, range=list(theme.COLOURS[: len(domain)]))
    else:
        scale = alt.Scale(domain=domain, scheme="turbo")
    return alt.Color("colour:N", scale=scale, legend=shown, sort=domain)


def shape(column: str, values: pd.Series[str], *, title: str | None = None) -> alt.Shape:
    """By the field `colour`, so that it can be told in grey, too."""
    domain = in_order(values)
    shapes = [theme.SHAPES[place % len(theme.SHAPES)] for place in range(len(domain))]
    scale = alt.Scale(domain=domain, range=shapes)
    legend = alt.Legend(title=title or header_of(column))
    return alt.Shape("colour:N", scale=scale, legend=legend, sort=domain)


def dashes(column: str, values: pd.Series[str], *, title: str | None = None) -> alt.StrokeDash:
    """By the field `colour`, beside `colour` and with its legend."""
    domain = in_order(values)
    patterns = [theme.DASHES[place % len(theme.DASHES)] for place in range(len(domain))]
    legend = alt.Legend(title=title or header_of(column))
    return alt.StrokeDash("colour:N", scale=alt.Scale(domain=domain, range=patterns), legend=legend, sort=domain)


def sized(chart: Any, place: Place, height: int | None = None) -> Any:
    """As large as its place wants a single chart to be."""
    return chart.properties(width="container" if place.fluid else place.width, height=height or place.height)


def faceted(chart: Any, place: Place, column: str, values: pd.Series[str], columns: int = 3) -> Any:
    """One chart for each value of the field `facet`, side by side, on equal scales."""
    count = values.nunique()
    columns = min(columns if place.theme == "screen" else 2, count)
    width, height = place.facet(columns)
    header = alt.Facet("facet:N", title=header_of(column), sort=in_order(values))
    return chart.properties(width=width, height=height).facet(header, columns=columns)
