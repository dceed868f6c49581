"""How the cases of an experiment did from sweep to sweep, with the changes marked and what changed beside them."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from hpcbench.analysis.quantities import Quantity
from hpcbench.report.charts import theme
from hpcbench.report.charts.base import colour, measure, names, shape, sized
from hpcbench.report.charts.theme import Place
from hpcbench.report.formats import formatter

MOST_CASES = len(theme.COLOURS)
_MOST_TICKS = 6
_FEWEST_DAYS = 3  # that are told by days


def _over_days(starts: pd.Series[Any]) -> alt.X:
    """A tick for each day, or so many days that there is room; hours, where it is a matter of them."""
    days = (starts.max() - starts.min()).days
    axis = alt.Axis(format="%m-%d %H:%M", labelAngle=0)
    if days >= _FEWEST_DAYS:
        step = alt.TimeIntervalStep("day", -(-days // _MOST_TICKS))
        axis = alt.Axis(format="%Y-%m-%d", labelAngle=0, tickCount=step)
    scale = alt.Scale(type="utc", nice=False, padding=8)
    return alt.X("started_at:T", title="start of the sweep (UTC)", axis=axis, scale=scale)


def draw(points: pd.DataFrame, quantity: Quantity, place: Place) -> Any:
    """`points` is what analysis.history.history_points makes, of MOST_CASES cases at most."""
    axis = measure(quantity.title, quantity.unit, points["value"])
    written = formatter(quantity)
    frame = points[points["value"].notna()].assign(
        colour=names(points["label"]),
        shown=[written(value) for value in points.loc[points["value"].notna(), "value"]],
        **{name: points[name] / axis.factor for name in ("value", "low", "high")},
    )
    x = _over_days(pd.to_datetime(frame["started_at"], utc=True))
    y = alt.Y("value:Q", title=axis.title, scale=axis.scale)
    base = alt.Chart(frame).encode(x, colour("label", frame["colour"], title="case"))
    tooltip = [
        alt.Tooltip("sweep:N"),
        alt.Tooltip("label:N", title="case"),
        alt.Tooltip("shown:N", title=quantity.title),
        alt.Tooltip("note:N", title="change"),
    ]
    lines = base.mark_line(strokeWidth=1).encode(y)
    rules = base.mark_rule(opacity=0.5).encode(alt.Y("low:Q", title=axis.title, scale=axis.scale), alt.Y2("high:Q"))
    dots = base.mark_point(opacity=1, size=25).encode(y, shape("label", frame["colour"], title="case"), tooltip=tooltip)
    layers = lines + rules + dots
    changes = frame[frame["is_change"]]
    if changes.empty:
        return sized(layers, place)
    marked = alt.Chart(changes).encode(x)
    upright = marked.mark_rule(color=theme.QUIET, strokeDash=theme.DASHES[1]).encode(tooltip=tooltip)
    ring = marked.mark_point(filled=False, size=160, strokeWidth=2, color=theme.RED, opacity=1).encode(
        y, tooltip=tooltip
    )
    return sized(upright + layers + ring, place)
