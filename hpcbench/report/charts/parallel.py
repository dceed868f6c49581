"""Parallel coordinates for many axes (Inselberg, 1985, "The plane with parallel coordinates", Visual Computer 1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import altair as alt
import pandas as pd

from hpcbench.analysis.cases.labels import cell, label
from hpcbench.report.charts import theme
from hpcbench.report.charts.components import best_first, gradient, is_numeric, measured, shortened, sized, title_of
from hpcbench.report.text.numbers import formatter

if TYPE_CHECKING:
    from hpcbench.analysis.cases.quantities import Quantity
    from hpcbench.analysis.results import Workload
    from hpcbench.report.charts.theme import PlotSize

MAX_AXES = 8
MAX_CASES = 300
_MAX_LABELS = 6  # labels per axis
_LONGEST = 16  # characters of a label


def draw(work: Workload, axes: list[str], quantity: Quantity, place: PlotSize) -> Any:
    """Return parallel coordinates: a line per case, coloured by the quantity, the last axis; the best is thick."""
    cases = best_first(work.cases, quantity).head(MAX_CASES)
    axis = measured(quantity, cases)
    lines, texts = _on_axes(cases, axes[:MAX_AXES], quantity, axis.title)
    lines["value"] = lines["case"].map(dict(enumerate(cases[quantity.column].astype(float) / axis.factor)))
    lines["name"] = lines["case"].map(dict(enumerate(label(case, work.shown) for _, case in cases.iterrows())))
    room = place.width // (1 + lines["axis"].nunique())
    below = alt.Axis(
        labelAngle=0,
        labelExpr="split(datum.label, ' ')",
        labelOverlap=False,
        grid=True,
        labelLimit=room,
        labelFontSize=12 if place.theme == "screen" else 6,
    )
    x = alt.X("axis:N", sort=list(dict.fromkeys(lines["axis"])), title=None, axis=below, scale=alt.Scale(padding=0.3))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.03, 1.08]))
    kind: Literal["log", "linear"] = "log" if axis.is_log else "linear"
    scale = alt.Scale(scheme=theme.ORDERED, type=kind)
    if place.fluid:  # lines of all colours are visible in light and dark mode
        scale = alt.Scale(range=list(theme.ON_ANY_GROUND), interpolate="lab", type=kind)
    base = alt.Chart(lines).encode(x, y, alt.Detail("case:N"))
    tooltip = [alt.Tooltip("name:N", title="case"), alt.Tooltip("value:Q", title=axis.title, format=".4~g")]
    every = base.mark_line(strokeWidth=1.2, opacity=1 if place.fluid else 0.6).encode(
        color=alt.Color("value:Q", title=axis.title, scale=scale, legend=gradient()), tooltip=tooltip
    )
    best = base.transform_filter("datum.case == 0").mark_line(strokeWidth=4, color=theme.RED).encode(tooltip=tooltip)
    words: dict[str, Any] = {"dy": -9, "fontSize": 11 if place.theme == "screen" else 7}
    text = alt.Chart(texts).encode(x, y, text="text:N")
    # A white outline makes labels on lines readable; the page has its own background colour.
    around = [] if place.fluid else [text.mark_text(**words, stroke="white", strokeWidth=3)]
    return sized(alt.layer(every, best, *around, text.mark_text(**words)), place)


def _on_axes(cases: pd.DataFrame, axes: list[str], quantity: Quantity, title: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the points of each line (`axis`, `y`, `case`; the best case is 0) and the labels of the axes."""
    lines, texts = [], []
    titles = [title_of(name) for name in axes]
    heads = [head if titles.count(head) == 1 else f"{head} #{place}" for place, head in enumerate(titles, 1)]
    for head, column in zip([*heads, title], [*axes, quantity.column], strict=True):
        heights, labels = _heights(cases[column], formatter(quantity) if column == quantity.column else cell)
        lines += [{"axis": head, "y": y, "case": case} for case, y in enumerate(heights)]
        texts += [{"axis": head, "y": y, "text": text} for y, text in labels.items()]
    return pd.DataFrame(lines), pd.DataFrame(texts)


def _heights(values: pd.Series[Any], written: Callable[[Any], str]) -> tuple[list[float], dict[float, str]]:
    """Return the position of each value between 0 and 1, by rank among distinct values, and its label."""
    numeric = is_numeric(values)
    distinct = sorted(values.unique()) if numeric else list(dict.fromkeys(values.map(cell)))
    places = {value: place / max(1, len(distinct) - 1) for place, value in enumerate(distinct)}
    step = -(-len(distinct) // _MAX_LABELS)
    labelled = {*distinct[::step], distinct[-1]} if step > 1 else set(distinct)
    labels = {place: shortened(written(value), _LONGEST) for value, place in places.items() if value in labelled}
    return [places[value] for value in (values if numeric else values.map(cell))], labels
