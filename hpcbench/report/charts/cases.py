"""Charts of one quantity of the cases of a workload, with intervals: points by name, lines or a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from hpcbench.report.charts import theme
from hpcbench.report.charts.components import (
    Measure,
    best_first,
    case_names,
    colour,
    dashes,
    faceted,
    gradient,
    in_order,
    is_numeric,
    known_limits,
    measured,
    measured_column,
    names,
    shape,
    sized,
    title_of,
    with_limits,
    x_of_axis,
)
from hpcbench.report.charts.encoding import MAX_NAMES, MAX_POINTS, Encoding
from hpcbench.report.text.numbers import formatter

if TYPE_CHECKING:
    from hpcbench.analysis.cases.quantities import Quantity
    from hpcbench.analysis.results import Workload
    from hpcbench.report.charts.theme import PlotSize

_IN_A_ROW = 36  # characters of all horizontal labels below a chart
_DARK = 0.46  # fraction of cividis with luminance 0.18, where black and white text have equal contrast (WCAG 2.1)
_AROUND = 50  # width of the axis of a heat map, in pixels
_OF_SIZE = 0.55  # width of a digit relative to the font size


def draw(work: Workload, encoding: Encoding, place: PlotSize) -> Any:
    """Return the chart of the cases of a workload, or of the best ones if they do not fit."""
    quantity = encoding.quantity
    cases = best_first(work.cases, quantity)
    cases = (cases[cases[encoding.x].notna()] if encoding.x else cases).head(most(encoding))
    axis = measured(quantity, cases)
    frame = _frame(cases, work.shown, encoding, axis)
    if encoding.heat:
        return _heat(frame, encoding, axis, place)
    title = title_of(work.shown[0]) if len(work.shown) == 1 else None
    chart = _lines(frame, encoding, axis) if encoding.x else _named(frame, encoding, axis, title)
    if encoding.facet:
        return faceted(chart, place, encoding.facet, frame["facet"])
    return sized(chart, place, None if encoding.x else max(60, _row(place) * len(frame)))


def most(encoding: Encoding) -> int:
    """Return the maximum number of cases in a chart, as points over `x` or by name."""
    return MAX_POINTS if encoding.x else MAX_NAMES


def _row(place: PlotSize) -> int:
    """Return the height of a named row in pixels."""
    return 22 if place.theme == "screen" else 12


def _frame(cases: pd.DataFrame, shown: list[str], encoding: Encoding, axis: Measure) -> pd.DataFrame:
    """Return the fields name, x, colour, facet, value, low, high, shown and best, named independently of columns."""
    quantity = encoding.quantity
    written = formatter(quantity)
    frame = with_limits(cases, quantity, axis)
    frame["name"] = case_names(cases, shown)
    frame["shown"] = [written(value) for value in cases[quantity.column]]
    frame["best"] = frame["value"] == (frame["value"].max() if quantity.more_is_better else frame["value"].min())
    if encoding.x and (encoding.heat or not is_numeric(cases[encoding.x])):
        frame["x"] = cases[encoding.x] if encoding.heat else names(cases[encoding.x])
    elif encoding.x:
        frame["x"] = cases[encoding.x].astype(float)
    for field, column in (("colour", encoding.colour), ("facet", encoding.facet)):
        if column:
            frame[field] = cases[column] if encoding.heat else names(cases[column])
    return frame


def _tooltip(quantity: Quantity) -> list[alt.Tooltip]:
    return [alt.Tooltip("name:N", title="case"), alt.Tooltip("shown:N", title=quantity.title)]


def _named(frame: pd.DataFrame, encoding: Encoding, axis: Measure, title: str | None) -> Any:
    """Return a chart with a row per case, best first, with points and intervals."""
    order = list(dict.fromkeys(frame["name"]))
    encoded: dict[str, Any] = {
        "y": alt.Y("name:N", title=title, sort=order, axis=alt.Axis(grid=False, labelOverlap=False))
    }
    if encoding.colour:
        encoded["color"] = colour(encoding.colour, frame["colour"], legend=len(set(frame["colour"])) < len(order))
    base, scale = alt.Chart(frame).encode(**encoded), _scale(frame, axis)
    rules = known_limits(base).mark_rule(clip=True).encode(x=alt.X("low:Q", title=axis.title, scale=scale), x2="high:Q")
    points = base.mark_point(opacity=1).encode(x=alt.X("value:Q", title=axis.title, scale=scale))
    return rules + points.encode(tooltip=_tooltip(encoding.quantity))


def _lines(frame: pd.DataFrame, encoding: Encoding, axis: Measure) -> Any:
    """Return points with intervals over numbers or names; over numbers with a line per colour if values are unique."""
    assert encoding.x is not None  # noqa: S101 - for mypy: the caller has checked
    encoded: dict[str, Any] = {}
    over_numbers = is_numeric(frame["x"])
    if over_numbers:
        across = measured_column(encoding.x, frame["x"])
        frame = frame.assign(x=frame["x"] / across.factor)
        encoded["x"] = x_of_axis(across, frame["x"])
    else:
        encoded["x"] = _x_of_names(encoding.x, frame["x"])
        if encoding.colour and encoding.colour != encoding.x:
            encoded["xOffset"] = alt.XOffset("colour:N", sort=in_order(frame["colour"]))
    marks: dict[str, Any] = {}
    if encoding.colour:
        encoded["color"] = colour(encoding.colour, frame["colour"])
        marks = {"shape": shape(encoding.colour, frame["colour"])}
    base, scale = alt.Chart(frame).encode(**encoded), _scale(frame, axis)
    y = alt.Y("value:Q", title=axis.title, scale=scale)
    line = base.mark_line().encode(y=y)
    line = line.encode(dashes(frame["colour"])) if encoding.colour else line
    rules = known_limits(base).mark_rule(clip=True).encode(y=alt.Y("low:Q", title=axis.title, scale=scale), y2="high:Q")
    points = base.mark_point(opacity=1).encode(y=y, tooltip=_tooltip(encoding.quantity), **marks)
    one_each = not frame.duplicated([name for name in ("x", "colour", "facet") if name in frame]).any()
    return line + rules + points if one_each and over_numbers else rules + points


def _x_of_names(column: str, values: pd.Series[str]) -> alt.X:
    """Return the axis of names, with slanted labels if they are long."""
    domain = in_order(values)
    aslant = sum(map(len, domain)) > _IN_A_ROW
    labels = alt.Axis(labelAngle=-30 if aslant else 0, labelOverlap=False)
    return alt.X("x:N", title=title_of(column), sort=domain, axis=labels, scale=alt.Scale(domain=domain))


def _scale(frame: pd.DataFrame, axis: Measure) -> alt.Scale:
    return axis.scale_of(frame["value"], frame["low"], frame["high"])


def _heat(frame: pd.DataFrame, encoding: Encoding, axis: Measure, place: PlotSize) -> Any:
    """Return a heat map of two numeric axes, with the value in each cell and a frame around the best one."""
    assert encoding.x is not None and encoding.colour is not None  # noqa: S101, PT018 - as above
    rows = sorted(set(frame["colour"]), reverse=True)
    reverse = not encoding.quantity.more_is_better
    frame = frame.assign(light=_is_light(frame["value"], axis, reverse=reverse))
    base = alt.Chart(frame).encode(
        x=alt.X("x:O", title=title_of(encoding.x), axis=alt.Axis(labelAngle=0)),
        y=alt.Y(
            "colour:O", title=title_of(encoding.colour), sort=[int(row) if row == int(row) else row for row in rows]
        ),
    )
    scale = alt.Scale(scheme=theme.ORDERED, reverse=reverse, type="log" if axis.is_log else "linear")
    cells = base.mark_rect().encode(
        color=alt.Color("value:Q", title=axis.title, scale=scale, legend=gradient()),
        tooltip=_tooltip(encoding.quantity),
    )
    best = base.transform_filter("datum.best").mark_rect(fill=None, stroke=theme.RED, strokeWidth=3)
    text = base.mark_text(fontSize=_size(frame, place)).encode(
        text="shown:N", color=alt.condition("datum.light", alt.value("black"), alt.value("white"))
    )
    return sized(cells + best + text, place, max(90, 44 * len(rows) if place.theme == "screen" else 24 * len(rows)))


def _is_light(values: pd.Series[float], axis: Measure, *, reverse: bool) -> pd.Series[bool]:
    """Return for each cell whether black text has more contrast than white text on its colour."""
    heights = pd.Series(np.log(values)) if axis.is_log else values
    ends = heights.max(), heights.min()
    darkest, lightest = ends if reverse else ends[::-1]
    far: pd.Series[bool] = heights.sub(darkest).abs() > _DARK * abs(lightest - darkest)
    return far


def _size(frame: pd.DataFrame, place: PlotSize) -> float:
    """Return the font size in pixels at which the longest number fits into its cell."""
    cell = (place.width - _AROUND) / frame["x"].nunique()
    longest = max(map(len, frame["shown"]))
    return min(9 if place.theme == "paper" else 12, cell / (_OF_SIZE * longest))
