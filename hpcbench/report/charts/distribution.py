"""Charts of the distribution of step times by case."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from hpcbench.analysis.stats import quantiles
from hpcbench.analysis.stats.intervals import Floats
from hpcbench.report.charts.components import colour, dashes, known_limits, measure, names, shape, sized
from hpcbench.report.charts.theme import PlotSize
from hpcbench.report.text.numbers import duration


def ecdf(samples: dict[str, list[Floats]], place: PlotSize) -> Any:
    """Return a chart of the empirical distribution function of the step times of each case, with some quantiles."""
    curves, marks = [], []
    for name, repetitions in zip(names(pd.Series(list(samples))), samples.values(), strict=True):
        times, parts = quantiles.curve(repetitions)
        curves.append(pd.DataFrame({"x": times, "part": parts, "colour": name}))
        for part, interval in quantiles.quantiles(repetitions):
            marks.append(
                {"x": interval.estimate, "low": interval.low, "high": interval.high, "part": part, "colour": name}
            )
    frame, points = pd.concat(curves, ignore_index=True), pd.DataFrame(marks)
    axis = measure("step time", "s", frame["x"], log=float(frame["x"].max()) > 4 * float(frame["x"].min()) > 0)
    frame = frame.assign(x=frame["x"] / axis.factor)
    x = alt.X("x:Q", title=axis.title, scale=axis.scale)
    y = alt.Y(
        "part:Q",
        title="cumulative fraction of steps",
        axis=alt.Axis(format="%"),
        scale=alt.Scale(domain=[0, 1]),
    )
    by_case = colour("case", frame["colour"])
    lines = alt.Chart(frame).mark_line(interpolate="step-after").encode(x, y, by_case, dashes(frame["colour"]))
    if points.empty:
        return sized(lines, place)
    top = frame["x"].max()
    points = points.assign(
        shown=[duration(value) for value in points["x"]],
        **{name: (points[name].astype(float) / axis.factor).clip(upper=top) for name in ("x", "low", "high")},
    )
    base = alt.Chart(points).encode(y, by_case)
    rules = known_limits(base).mark_rule().encode(alt.X("low:Q", title=axis.title, scale=axis.scale), alt.X2("high:Q"))
    tooltip = [
        alt.Tooltip("colour:N", title="case"),
        alt.Tooltip("part:Q", format="~%"),
        alt.Tooltip("shown:N", title="step time"),
    ]
    marked = base.mark_point(opacity=1).encode(x, shape("case", frame["colour"]), tooltip=tooltip)
    return sized(lines + rules + marked, place)
