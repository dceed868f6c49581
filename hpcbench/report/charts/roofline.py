"""The roofline chart: achieved FLOP/s against arithmetic intensity, below the measured peaks of the machine.

After Williams, Waterman and Patterson (2009), "Roofline", Communications of the ACM 52, figure 1.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from hpcbench.analysis.studies.roofline import Roofline
from hpcbench.report.charts import theme
from hpcbench.report.charts.components import case_names, colour, measure, names, shape, sized
from hpcbench.report.charts.encoding import MAX_POINTS
from hpcbench.report.charts.theme import PlotSize

MAX_ROOFS = 6
_POINTS = 50
_ROOM = 4.0  # factor by which the axis extends beyond the points to each side
_FLOPS = "FLOP/s"


def draw(found: Roofline, cases: pd.DataFrame, shown: list[str], by: str, place: PlotSize) -> Any:
    """Return a roofline chart with a point per case, coloured by the column `by`, and the rooflines of these cases.

    At most MAX_POINTS cases are drawn, those closest to their rooflines.
    """
    points = found.points[found.points["flops_per_s"].notna() & found.points["intensity_flops_per_byte"].notna()]
    points = points.nlargest(MAX_POINTS, "share_of_attainable") if len(points) > MAX_POINTS else points
    roofs = rooflines(found.ceilings.head(MAX_ROOFS), points["intensity_flops_per_byte"])
    axis = measure(
        "achieved rate of one node or GPU", _FLOPS, pd.concat([points["flops_per_s"], roofs["value"]]), log=True
    )
    frame = _frame(points, cases.loc[points.index], shown, by, axis.factor)
    x = alt.X("x:Q", title="arithmetic intensity (FLOP/byte)", scale=alt.Scale(type="log", nice=False, padding=8))
    y = alt.Y("value:Q", title=axis.title, scale=axis.scale)
    roofs["value"] /= axis.factor
    base = alt.Chart(frame).encode(x, colour(by, frame["colour"]))
    rules = base.mark_rule().encode(alt.Y("low:Q", title=axis.title, scale=axis.scale), alt.Y2("high:Q"))
    tooltip = [
        alt.Tooltip("name:N", title="case"),
        alt.Tooltip("x:Q", title="FLOP/byte", format=".3~g"),
        alt.Tooltip("value:Q", title=axis.title, format=".4~g"),
        alt.Tooltip("share:Q", title="fraction of attainable", format=".1%"),
        alt.Tooltip("bound:N", title="bound by"),
    ]
    dots = base.mark_point(opacity=1).encode(y, shape(by, frame["colour"]), tooltip=tooltip)
    return sized(drawn_roofs(roofs, x, y, place) + rules + dots, place)


def drawn_roofs(roofs: pd.DataFrame, x: alt.X, y: alt.Y, place: PlotSize) -> Any:
    """Return the layers of rooflines, whose values are in the unit of the axis: a line and a label each."""
    lines = alt.Chart(roofs).mark_line(color=theme.QUIET, strokeWidth=1.5).encode(x, y, alt.Detail("roof:N"))
    ends = roofs.loc[roofs.groupby("roof")["x"].idxmax()]
    size = 11 if place.theme == "screen" else 7
    labels = alt.Chart(ends).mark_text(align="right", dy=-7, color=theme.QUIET, fontSize=size)
    return lines + labels.encode(x, y, text="roof:N")


def rooflines(ceilings: pd.DataFrame, intensities: pd.Series[float]) -> pd.DataFrame:
    """Return the points of each roofline: the slope of the memory bandwidth, and the peak performance."""
    ridges = ceilings["ridge_flops_per_byte"].dropna()
    around = pd.concat([intensities, ridges])
    x = np.geomspace(around.min() / _ROOM, around.max() * _ROOM, _POINTS)
    parts = []
    for _, ceiling in ceilings.iterrows():
        name = _ground(ceiling["cpus"])
        peak, moved = float(ceiling["peak_flops_per_s"]), ceiling["peak_bytes_per_s"]
        at = np.unique(np.append(x, ceiling["ridge_flops_per_byte"])) if pd.notna(moved) else x
        value = np.minimum(peak, at * float(moved)) if pd.notna(moved) else np.full_like(at, peak)
        name += f", {ceiling['dtype']}" if ceilings["dtype"].nunique() > 1 else ""
        parts.append(pd.DataFrame({"x": at, "value": value, "roof": f"{name}: {_rate(peak)}"}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame({"x": [], "value": [], "roof": []})


def _rate(flops_per_s: float) -> str:
    factor, prefix = (1e12, "T") if flops_per_s >= 999.5e9 else (1e9, "G")
    return f"{flops_per_s / factor:.3g} {prefix}FLOP/s"


def _ground(cpus: Any) -> str:
    return "one GPU" if pd.isna(cpus) else "1 core" if cpus == 1 else f"{cpus} cores"


def _frame(points: pd.DataFrame, cases: pd.DataFrame, shown: list[str], by: str, factor: float) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "x": points["intensity_flops_per_byte"],
            "value": points["flops_per_s"] / factor,
            "low": points["flops_per_s_ci_low"] / factor,
            "high": points["flops_per_s_ci_high"] / factor,
            "share": points["share_of_attainable"],
            "bound": points["bound"],
            "colour": names(cases[by]),
            "name": case_names(cases, shown),
        }
    )
