"""What a case takes in time against what it takes in energy or money: who is on the Pareto front has a name."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from hpcbench.analysis.pareto import FRONT, MAYBE
from hpcbench.analysis.quantities import THROUGHPUT, Quantity
from hpcbench.analysis.results import Work
from hpcbench.report.charts import theme
from hpcbench.report.charts.base import Measure, case_names, measure, sized, with_limits
from hpcbench.report.charts.encoding import MOST_POINTS
from hpcbench.report.charts.theme import Place
from hpcbench.report.formats import formatter

MILLION = 1e6
STANDINGS = {FRONT: "on the front", MAYBE: "off it only within noise", "dominated": "dominated"}
_COLOURS = {"on the front": theme.RED, "off it only within noise": theme.YELLOW, "dominated": theme.QUIET}
_SHAPES = {"on the front": "circle", "off it only within noise": "diamond", "dominated": "cross"}
_MOST_NAMED = 12


def draw(work: Work, quantity: Quantity, place: Place) -> Any:
    """The time of a million items against another quantity of them; left and below is better. Of more cases than have
    room, those on the front and the best of the others are drawn."""
    cases = work.cases[work.cases[quantity.column].notna() & work.cases[THROUGHPUT.column].notna()]
    cases = cases.sort_values("pareto", key=lambda column: column != FRONT, kind="stable").head(MOST_POINTS)
    across = measure("time of a million items", "s", MILLION / cases[THROUGHPUT.column].astype(float))
    up = measure(quantity.title, quantity.unit, cases[quantity.column])
    frame = _frame(cases, work.shown, quantity, across, up)
    x = alt.X("x:Q", title=across.title, scale=across.scale)
    y = alt.Y("value:Q", title=up.title, scale=up.scale)
    shown = [standing for standing in _COLOURS if standing in set(frame["standing"])]
    colours = alt.Scale(domain=shown, range=[_COLOURS[each] for each in shown])
    shapes = alt.Scale(domain=shown, range=[_SHAPES[each] for each in shown])
    title = alt.Legend(title="case")
    base = alt.Chart(frame).encode(color=alt.Color("standing:N", scale=colours, legend=title, sort=shown))
    upright = base.mark_rule(opacity=0.6).encode(x, alt.Y("low:Q", title=up.title, scale=up.scale), alt.Y2("high:Q"))
    level = base.mark_rule(opacity=0.6).encode(
        alt.X("x_low:Q", title=across.title, scale=across.scale), alt.X2("x_high:Q"), y
    )
    tooltip = [
        alt.Tooltip("name:N", title="case"),
        alt.Tooltip("seconds:N", title="time of a million items"),
        alt.Tooltip("shown:N", title=quantity.title),
    ]
    points = base.mark_point(opacity=1).encode(
        x, y, alt.Shape("standing:N", scale=shapes, legend=title, sort=shown), tooltip=tooltip
    )
    front = alt.Chart(frame[frame["standing"] == STANDINGS[FRONT]].sort_values("x"))
    line = front.mark_line(color=theme.RED, strokeWidth=1, interpolate="step-after").encode(x, y)
    text = front.transform_filter("datum.named").mark_text(
        align="left", dx=8, dy=-8, limit=180, fontSize=11 if place.theme == "screen" else 7
    )
    return sized(line + upright + level + points + text.encode(x, y, text="name:N"), place)


def _frame(cases: pd.DataFrame, shown: list[str], quantity: Quantity, across: Measure, up: Measure) -> pd.DataFrame:
    rates = {name: cases[name].astype(float) for name in (THROUGHPUT.column, *THROUGHPUT.limits)}
    rate, low, high = rates.values()
    frame = with_limits(cases, quantity, up).assign(
        x=MILLION / rate / across.factor,
        x_low=MILLION / high / across.factor,
        x_high=MILLION / low / across.factor,
        standing=cases["pareto"].map(STANDINGS),
        name=case_names(cases, shown),
        shown=[formatter(quantity)(value) for value in cases[quantity.column]],
        seconds=[f"{MILLION / value:.4g} s" for value in rate],
    )
    on_front = frame["standing"] == STANDINGS[FRONT]
    return frame.assign(named=on_front & (np.cumsum(on_front) <= _MOST_NAMED)).dropna(subset=["standing"])
