"""The chart of energy or cost against time, with labelled cases on the Pareto front."""

from __future__ import annotations

from typing import Any, Literal

import altair as alt
import numpy as np
import pandas as pd

from hpcbench.analysis.cases.labels import cell, varying
from hpcbench.analysis.cases.pareto import FRONT, MAYBE
from hpcbench.analysis.cases.quantities import THROUGHPUT, Quantity
from hpcbench.analysis.results import Workload
from hpcbench.report.charts import theme
from hpcbench.report.charts.components import Measure, case_names, measure, names, sized, with_limits
from hpcbench.report.charts.encoding import MAX_POINTS
from hpcbench.report.charts.theme import PlotSize
from hpcbench.report.text.numbers import formatter
from hpcbench.report.text.units import header_of

MILLION = 1e6
STANDINGS = {FRONT: "on the front", MAYBE: "off it only within noise", "dominated": "dominated"}
_COLOURS = {"on the front": theme.RED, "off it only within noise": theme.YELLOW, "dominated": theme.QUIET}
_SHAPES = {"on the front": "circle", "off it only within noise": "diamond", "dominated": "cross"}
_LINES = 16  # labels that fit above each other


def draw(work: Workload, quantity: Quantity, place: PlotSize) -> Any:
    """Return a chart of a quantity per million items against the time per million items; the lower left is better.

    At most MAX_POINTS cases are drawn: those on the front, then the best others.
    """
    cases = work.cases[work.cases[quantity.column].notna() & work.cases[THROUGHPUT.column].notna()]
    cases = cases.sort_values("pareto", key=lambda column: column != FRONT, kind="stable").head(MAX_POINTS)
    across = measure("time per million items", "s", MILLION / cases[THROUGHPUT.column].astype(float))
    up = measure(quantity.title, quantity.unit, cases[quantity.column])
    frame = _frame(cases, work.shown, quantity, across, up)
    wide = across.scale_of(frame["x"], frame["x_low"], frame["x_high"])
    high = up.scale_of(frame["value"], frame["low"], frame["high"])
    x = alt.X("x:Q", title=across.title, scale=wide)
    y = alt.Y("value:Q", title=up.title, scale=high)
    shown = [standing for standing in _COLOURS if standing in set(frame["standing"])]
    colours = alt.Scale(domain=shown, range=[_COLOURS[each] for each in shown])
    shapes = alt.Scale(domain=shown, range=[_SHAPES[each] for each in shown])
    named = " and ".join(map(header_of, _named_by(cases, work.shown)))
    title = alt.Legend(title=f"case, by its {named}" if named else "case", symbolOpacity=1)
    base = alt.Chart(frame).encode(color=alt.Color("standing:N", scale=colours, legend=title, sort=shown))
    rules = base.mark_rule(opacity=0.6, clip=True)
    upright = rules.encode(x, alt.Y("low:Q", title=up.title, scale=high), alt.Y2("high:Q"))
    level = rules.encode(alt.X("x_low:Q", title=across.title, scale=wide), alt.X2("x_high:Q"), y)
    tooltip = [
        alt.Tooltip("name:N", title="case"),
        alt.Tooltip("seconds:N", title="time per million items"),
        alt.Tooltip("shown:N", title=quantity.title),
    ]
    points = base.mark_point(opacity=1).encode(
        x, y, alt.Shape("standing:N", scale=shapes, legend=title, sort=shown), tooltip=tooltip
    )
    layers = upright + level + points
    front = frame[frame["standing"] == STANDINGS[FRONT]].sort_values("x")
    if cases["pareto_of"].str.count(r"\+").max() == 1:  # a front of three quantities is no staircase in two
        stairs = alt.Chart(front).mark_line(color=theme.RED, strokeWidth=1, interpolate="step-after")
        layers = stairs.encode(x, y) + layers
    return sized(sum(_names(front[front["named"]], x, y, place), layers), place)


def _named_by(cases: pd.DataFrame, shown: list[str]) -> list[str]:
    """Return the columns of the labels: those in which the cases on the front differ."""
    return varying(cases[cases["pareto"] == FRONT], shown) or shown


def _names(named: pd.DataFrame, x: alt.X, y: alt.Y, place: PlotSize) -> list[Any]:
    """Return layers of labels, placed towards the middle so that none is cut; no empty layers, which make Vega warn."""
    middle, size = named["x"].median(), 11 if place.theme == "screen" else 7
    sides: tuple[tuple[pd.DataFrame, Literal["left", "right"], int], ...] = (
        (named[named["x"] <= middle], "left", 8),
        (named[named["x"] > middle], "right", -8),
    )
    return [
        alt.Chart(rows).mark_text(align=align, dx=dx, dy=-8, limit=180, fontSize=size).encode(x, y, text="label:N")
        for rows, align, dx in sides
        if len(rows)
    ]


def _frame(cases: pd.DataFrame, shown: list[str], quantity: Quantity, across: Measure, up: Measure) -> pd.DataFrame:
    rates = {name: cases[name].astype(float) for name in (THROUGHPUT.column, *THROUGHPUT.limits)}
    rate, low, high = rates.values()
    values = cases[_named_by(cases, shown)].map(cell)
    frame = with_limits(cases, quantity, up).assign(
        x=MILLION / rate / across.factor,
        x_low=MILLION / high / across.factor,
        x_high=MILLION / low / across.factor,
        standing=cases["pareto"].map(STANDINGS),
        name=case_names(cases, shown),
        label=names(pd.Series([", ".join(row) for row in values.to_numpy()], cases.index)),
        shown=[formatter(quantity)(value) for value in cases[quantity.column]],
        seconds=[f"{MILLION / value:.4g} s" for value in rate],
    )
    return frame.assign(named=_named(frame, up)).dropna(subset=["standing"])


def _named(frame: pd.DataFrame, up: Measure) -> list[bool]:
    """Return for each case whether it is on the front with enough space for a label."""
    heights = np.log(frame["value"]) if up.is_log else frame["value"]
    lines = (heights - heights.min()) / ((heights.max() - heights.min()) or 1.0) * _LINES
    taken: list[float] = []
    found = []
    for line, standing in zip(lines, frame["standing"], strict=True):
        free = standing == STANDINGS[FRONT] and all(abs(line - other) >= 1 for other in taken)
        taken += [line] if free else []
        found.append(free)
    return found
