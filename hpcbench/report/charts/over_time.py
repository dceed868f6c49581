"""Charts of a case over time: its measurements with interference, and the electrical power."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from hpcbench.analysis.cases.quantities import TIME
from hpcbench.report.charts import theme
from hpcbench.report.charts.components import Measure, colour, in_order, measure, names, sized
from hpcbench.report.charts.theme import PlotSize

MAX_REPETITIONS = 6
MAX_PARTS = 16  # measured parts of all hosts
MAX_LINES = 24
MAX_POINTS = 3000  # points in a chart
MAX_WINDOWS = 1000
_SHADES = (theme.QUIET, theme.YELLOW, theme.PURPLE, theme.CYAN)  # visible as translucent areas in both modes
_DECIMALS = 4  # 0.1 ms, below the resolution of a chart
_TIME = "time since the first measurement (s)"
_X = alt.X("x:Q", title=_TIME, scale=alt.Scale(nice=False))
_REPETITION = "'run ' + datum.value"


def shown_samples(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the first MAX_REPETITIONS runs, which `samples` draws."""
    return frame[frame["run"].isin(sorted(frame["run"].unique())[:MAX_REPETITIONS])]


def samples(frame: pd.DataFrame, windows: pd.DataFrame, place: PlotSize, title: str = TIME.title) -> Any:
    """Return a chart of measurements (`run`, `at_s`, `time_s`), with a row per run and interference shaded.

    `windows` with interference have the columns `run`, `start_s`, `end_s` and `causes`. Above MAX_POINTS
    measurements, a point is the median of neighbours, and a line their range. `title` names the times.
    """
    frame = shown_samples(frame)
    axis = measure(title, "s", frame["time_s"])
    points = _ranges(frame, MAX_POINTS // frame["run"].nunique())
    points = points.assign(**{name: points[name] / axis.factor for name in ("value", "low", "high")})
    layers = [_dots(points, axis, place)]
    if points["low"].notna().any():
        layers.insert(0, _bars(points, axis))
    shaded = []
    if len(windows) and windows["run"].isin(points["colour"]).any():
        shaded = [windows[windows["run"].isin(points["colour"])].head(MAX_WINDOWS)]
        shaded = [each.set_axis(["colour", "x", "end", "causes"], axis=1) for each in shaded]
        layers = [_shades(shaded[0]["causes"]), *layers]
    drawn = pd.concat([points, *shaded]).round(_DECIMALS).astype({"colour": str})
    return _by_repetition(alt.layer(*layers, data=drawn), place, drawn["colour"])


def is_thinned(frame: pd.DataFrame) -> bool:
    """Return whether points of `samples` are medians of several measurements."""
    counts = shown_samples(frame)["run"].value_counts()
    return bool(counts.max() > MAX_POINTS // len(counts))


def _ranges(frame: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return `x` and `value` per measurement; per bin, with `low` and `high`, if a run has more than `most`."""
    rows = []
    for repetition, each in frame.groupby("run", sort=False):
        each = each.rename(columns={"at_s": "x", "time_s": "value"})[["x", "value"]]
        if len(each) > most:
            bins = each.groupby(np.arange(len(each)) * most // len(each))
            times = bins["value"].agg(["median", "min", "max"]).set_axis(["value", "low", "high"], axis=1)
            each = times.assign(x=bins["x"].mean())
        rows.append(each.assign(colour=repetition))
    return pd.concat(rows, ignore_index=True).reindex(columns=["colour", "x", "value", "low", "high"])


def _coloured(points: pd.DataFrame) -> alt.Color:
    return colour("run", points["colour"].astype(str), legend=False)


def _dots(points: pd.DataFrame, axis: Measure, place: PlotSize) -> Any:
    few = len(points) <= 20 * points["colour"].nunique()
    size = 60 if few else 12
    tooltip = [
        alt.Tooltip("colour:N", title="run"),
        alt.Tooltip("x:Q", title=_TIME),
        alt.Tooltip("value:Q", title=axis.title),
    ]
    return (
        alt.Chart()
        .transform_filter("isValid(datum.value)")
        .mark_point(opacity=0.7, size=size if place.theme == "screen" else size / 3)
        .encode(_X, alt.Y("value:Q", title=axis.title, scale=axis.scale), _coloured(points), tooltip=tooltip)
    )


def _bars(points: pd.DataFrame, axis: Measure) -> Any:
    chart = alt.Chart().transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1, opacity=0.5)
    return chart.encode(_X, alt.Y("low:Q", title=axis.title, scale=axis.scale), alt.Y2("high:Q"), _coloured(points))


def _shades(causes: pd.Series[str]) -> Any:
    """Return shaded windows, with outlines, so that short ones are visible."""
    domain = list(dict.fromkeys(causes))
    scale = alt.Scale(domain=domain, range=[_SHADES[place % len(_SHADES)] for place in range(len(domain))])
    legend = alt.Legend(title="interference from")
    return (
        alt.Chart()
        .transform_filter("isValid(datum.end)")
        .mark_rect(fillOpacity=0.3, strokeOpacity=0.3, strokeWidth=1)
        .encode(
            _X,
            alt.X2("end:Q"),
            alt.Fill("causes:N", scale=scale, legend=legend),
            alt.Stroke("causes:N", scale=scale, legend=legend),
            tooltip=[alt.Tooltip("causes:N", title="interference from")],
        )
    )


def _by_repetition(layers: Any, place: PlotSize, repetitions: pd.Series[str]) -> Any:
    """Return a row per run with equal scales, or a single chart for one run."""
    rows = in_order(repetitions)
    if len(rows) == 1:
        return sized(layers, place)
    header = alt.Header(title=None, labelExpr=_REPETITION, labelOrient="top", labelAnchor="start", labelPadding=2)
    width, height = place.facet(1)
    chart = layers.properties(width=width, height=max(height // 2, 75))
    spacing = 12 if place.theme == "screen" else 6
    return chart.facet(row=alt.Row("colour:N", header=header, sort=rows), spacing=spacing)


def shown_power(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that `power` draws: the first MAX_PARTS parts, and runs for at most MAX_LINES lines."""
    parts = frame.groupby(["host", "part"], sort=False).ngroup()
    most = min(MAX_REPETITIONS, MAX_LINES // min(MAX_PARTS, parts.nunique()))
    return frame[(parts < MAX_PARTS) & frame["run"].isin(sorted(frame["run"].unique())[:most])]


def power(frame: pd.DataFrame, place: PlotSize) -> Any:
    """Return a chart of power in W over time, a line per part and run.

    `frame` has the columns `run`, `host`, `part`, `at_s` and `watts`.
    """
    frame = shown_power(frame)
    several = frame["host"].nunique() > 1
    parts = names(frame["host"] + " " + frame["part"] if several else frame["part"])
    axis = measure("power", "W", frame["watts"], log=False)
    drawn = _averaged(frame.assign(colour=parts, x=frame["at_s"])).round(_DECIMALS)
    again = frame["run"].nunique() > 1
    usual = 2.0 if place.theme == "screen" else 1.0
    chart = (
        alt.Chart(drawn)
        .mark_line(strokeWidth=usual / 2 if again else usual, opacity=0.8 if again else 1)
        .encode(
            _X,
            alt.Y("watts:Q", title=axis.title, scale=alt.Scale(zero=True)),
            colour("component", drawn["colour"]),
            detail="run:N",
            tooltip=[
                alt.Tooltip("colour:N", title="component"),
                alt.Tooltip("run:N"),
                alt.Tooltip("x:Q", title=_TIME),
                alt.Tooltip("watts:Q", title=axis.title, format=",.1f"),
            ],
        )
    )
    return sized(chart, place)


def _averaged(frame: pd.DataFrame) -> pd.DataFrame:
    """Return means of neighbours, so that all lines together have about MAX_POINTS points."""
    line = ["run", "colour"]
    neighbours = frame.groupby(line).cumcount() // -(-len(frame) // MAX_POINTS)
    return frame.groupby([*line, neighbours.rename("place")], sort=False)[["x", "watts"]].mean().reset_index()
