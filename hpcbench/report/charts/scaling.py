"""Charts of speedup and efficiency of scaling series, with ideal lines and fitted laws."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from hpcbench.analysis.studies.scaling import Scaling
from hpcbench.report.charts import theme
from hpcbench.report.charts.components import MAX_TICKS, colour, known_limits, names, reach, shape, sized
from hpcbench.report.charts.theme import PlotSize

_CURVE_POINTS = 60


def speedup(series: list[Scaling], place: PlotSize) -> Any:
    """Return a chart of the speedup over the base case of each series on logarithmic axes, with the ideal lines."""
    frame = _points(series, "speedup")
    low, high = reach(frame["value"], frame["low"], frame["high"], is_log=True)
    most = max(high, float(_ideal(series)["value"].max()))
    y = alt.Scale(type="log", base=2, nice=False, padding=8, domain=[low, most])
    ideal = alt.Chart(_ideal(series)).mark_line(color=theme.QUIET, strokeWidth=1)
    line = ideal.encode(_x(frame, series), alt.Y("value:Q", scale=y), alt.Detail("base:N"))
    return sized(alt.layer(line, *_layers(frame, series, "speedup", y, _curves(series))), place)


def efficiency(series: list[Scaling], place: PlotSize) -> Any:
    """Return a chart of the efficiency of each series: speedup over ideal speedup; 1 is ideal."""
    frame = _points(series, "efficiency")
    _, high = reach(frame["value"], frame["low"], frame["high"], is_log=False)
    y = alt.Scale(domain=[0, max(1.05, high)])
    ideal = alt.Chart(pd.DataFrame({"value": [1.0]})).mark_rule(color=theme.QUIET).encode(alt.Y("value:Q", scale=y))
    curves = _curves(series)
    curves["value"] /= curves["x"] / curves["base"]
    return sized(alt.layer(ideal, *_layers(frame, series, "efficiency", y, curves)), place)


def _ideal(series: list[Scaling]) -> pd.DataFrame:
    """Return the end points of the ideal line of each base number of processors."""
    ends: dict[int, int] = {}
    for each in series:
        base, most = int(each.base["processors"]), int(each.points["processors"].max())
        ends[base] = max(most, ends.get(base, 0))
    return pd.DataFrame(
        [{"x": x, "value": x / base, "base": base} for base, most in ends.items() for x in (base, most)]
    )


def _points(series: list[Scaling], name: str) -> pd.DataFrame:
    columns = {"processors": "x", name: "value", f"{name}_low": "low", f"{name}_high": "high"}
    parts = [
        each.points.rename(columns=columns)[[*columns.values(), "label"]].assign(colour=label)
        for each, label in zip(series, _names(series), strict=True)
    ]
    frame = pd.concat(parts, ignore_index=True).astype({"value": float, "low": float, "high": float})
    frame = frame.replace([np.inf, -np.inf], np.nan)
    return frame.assign(shown=[f"{value:.3g}" for value in frame["value"]])


def _names(series: list[Scaling]) -> list[str]:
    """Return a name per series, of the properties in which they differ."""
    parts = [(each.work, each.series, each.held) for each in series]
    differing = [place for place in range(3) if len({part[place] for part in parts}) > 1]
    texts = [", ".join(part[place] for place in differing if part[place]) for part in parts]
    return list(names(pd.Series(texts)))


def _curves(series: list[Scaling]) -> pd.DataFrame:
    """Return the curve of the last, most general fitted law of each series, as a speedup over its base."""
    found = []
    for each, name in zip(series, _names(series), strict=True):
        if each.fits:
            counts = each.points["processors"].to_numpy(dtype=np.float64)
            at = np.geomspace(counts.min(), counts.max(), _CURVE_POINTS)
            value = each.fits[-1].curve(at)[:, 0] / each.base["rate"]
            found.append(pd.DataFrame({"x": at, "value": value, "base": counts.min(), "colour": name}))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=["x", "value", "base", "colour"])


def _x(frame: pd.DataFrame, series: list[Scaling]) -> alt.X:
    counts = sorted(set(frame["x"]))
    ticks = alt.Axis(values=counts) if len(counts) <= MAX_TICKS else alt.Axis()
    scale = alt.Scale(type="log", base=2, nice=False, padding=12)
    return alt.X("x:Q", title=series[0].unit, scale=scale, axis=ticks)


def _layers(
    frame: pd.DataFrame, series: list[Scaling], title: str, y: alt.Scale, curves: pd.DataFrame
) -> list[alt.Chart]:
    several = len(set(frame["colour"])) > 1
    encoded: dict[str, Any] = {"x": _x(frame, series)}
    marks: dict[str, Any] = {}
    encoded["color"] = colour("series", frame["colour"]) if several else alt.value(theme.BLUE)
    if several:
        marks = {"shape": shape("series", frame["colour"])}
    axis_title = f"{title} over the fewest {series[0].unit}" if title == "speedup" else title
    axis = alt.Axis(format="%") if title == "efficiency" else alt.Axis(format="~r")
    drawn = alt.Chart(curves).mark_line(clip=True, strokeDash=theme.DASHES[1], strokeWidth=1.2)
    laws = drawn.encode(alt.Y("value:Q", scale=y), **encoded)
    base = alt.Chart(frame).encode(**encoded)
    rules = known_limits(base).mark_rule(clip=True)
    intervals = rules.encode(alt.Y("low:Q", scale=y, title=axis_title, axis=axis), alt.Y2("high:Q"))
    tooltip = [
        alt.Tooltip("label:N", title="case"),
        alt.Tooltip("x:Q", title=series[0].unit),
        alt.Tooltip("shown:N", title=title),
    ]
    points = base.mark_point(opacity=1).encode(
        alt.Y("value:Q", scale=y, title=axis_title, axis=axis), tooltip=tooltip, **marks
    )
    return [*([] if curves.empty else [laws]), intervals, points]
