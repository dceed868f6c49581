"""The distribution of the times of single steps, case by case, and the samples of one case in the order of time."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from hpcbench.analysis import distribution
from hpcbench.analysis.statistics import Floats
from hpcbench.report.charts import theme
from hpcbench.report.charts.base import colour, dashes, measure, names, sized
from hpcbench.report.charts.theme import Place
from hpcbench.report.formats import duration


def ecdf(samples: dict[str, list[Floats]], place: Place) -> Any:
    """A curve for each case, by its name, and its quantiles with their intervals."""
    curves, marks = [], []
    for name, repetitions in samples.items():
        times, parts = distribution.curve(repetitions)
        curves.append(pd.DataFrame({"x": times, "part": parts, "colour": name}))
        for part, interval in distribution.quantiles(repetitions):
            marks.append(
                {"x": interval.estimate, "low": interval.low, "high": interval.high, "part": part, "colour": name}
            )
    frame, points = pd.concat(curves, ignore_index=True), pd.DataFrame(marks)
    axis = measure("time of a step", "s", frame["x"], log=float(frame["x"].max()) > 4 * float(frame["x"].min()) > 0)
    frame = frame.assign(x=frame["x"] / axis.factor, colour=names(frame["colour"]))
    x = alt.X("x:Q", title=axis.title, scale=axis.scale)
    y = alt.Y(
        "part:Q",
        title="part of the steps that take no longer",
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
        colour=names(points["colour"]),
        **{name: (points[name].astype(float) / axis.factor).clip(upper=top) for name in ("x", "low", "high")},
    )
    base = alt.Chart(points).encode(y, by_case)
    rules = base.mark_rule().encode(alt.X("low:Q", title=axis.title, scale=axis.scale), alt.X2("high:Q"))
    tooltip = [
        alt.Tooltip("colour:N", title="case"),
        alt.Tooltip("part:Q", format="~%"),
        alt.Tooltip("shown:N", title="time"),
    ]
    return sized(lines + rules + base.mark_point(opacity=1).encode(x, tooltip=tooltip), place)


def over_time(samples: pd.DataFrame, windows: pd.DataFrame, place: Place) -> Any:
    """Samples (`repetition`, `at_s`, `time_s`) in the order in which they were taken, and the windows in which others
    disturbed them (`repetition`, `start_s`, `end_s`, `causes`), shaded."""
    axis = measure("time of a step", "s", samples["time_s"])
    frame = samples.assign(value=samples["time_s"] / axis.factor, colour=samples["repetition"].astype(str))
    x = alt.X("at_s:Q", title="time since the first sample (s)")
    points = (
        alt.Chart(frame)
        .mark_point(opacity=0.6, size=12 if place.theme == "screen" else 4)
        .encode(x, alt.Y("value:Q", title=axis.title, scale=axis.scale), colour("repetition", frame["colour"]))
    )
    if windows.empty:
        return sized(points, place)
    shaded = (
        alt.Chart(windows)
        .mark_rect(color=theme.RED, opacity=0.15)
        .encode(alt.X("start_s:Q"), alt.X2("end_s:Q"), tooltip=[alt.Tooltip("causes:N", title="disturbed by")])
    )
    return sized(shaded + points, place)
