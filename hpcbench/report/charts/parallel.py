"""Parallel coordinates for many axes (Inselberg, 1985, "The plane with parallel coordinates", Visual Computer 1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt
import pandas as pd

from hpcbench.analysis.naming import cell, label
from hpcbench.analysis.quantities import Quantity
from hpcbench.analysis.results import Work
from hpcbench.report.charts import theme
from hpcbench.report.charts.base import is_numeric, measured, sized
from hpcbench.report.charts.theme import Place
from hpcbench.report.formats import formatter
from hpcbench.report.ranking import header_of

MOST_AXES = 8
MOST_CASES = 300
_MOST_LABELS = 6  # on one axis
_LONGEST = 16  # characters of a label


def draw(work: Work, axes: list[str], quantity: Quantity, place: Place) -> Any:
    """A line for each case through its value on each axis, the quantity last and as colour; the best one is thick."""
    cases = work.cases[work.cases[quantity.column].notna()].head(MOST_CASES)
    axis = measured(quantity, cases)
    lines, texts = _on_axes(cases, axes[:MOST_AXES], quantity, axis.title)
    lines["value"] = lines["case"].map(dict(enumerate(cases[quantity.column].astype(float) / axis.factor)))
    lines["name"] = lines["case"].map(dict(enumerate(label(case, work.shown) for _, case in cases.iterrows())))
    words = alt.Axis(labelAngle=0, labelExpr="split(datum.label, ' ')", labelOverlap=False, grid=True)
    x = alt.X("axis:N", sort=list(dict.fromkeys(lines["axis"])), title=None, axis=words, scale=alt.Scale(padding=0.3))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.03, 1.08]))
    scale = alt.Scale(scheme=theme.ORDERED, type="log" if axis.is_log else "linear")
    base = alt.Chart(lines).encode(x, y, alt.Detail("case:N"))
    tooltip = [alt.Tooltip("name:N", title="case"), alt.Tooltip("value:Q", title=axis.title, format=".4~g")]
    every = base.mark_line(strokeWidth=1.2, opacity=0.6).encode(
        color=alt.Color("value:Q", title=axis.title, scale=scale), tooltip=tooltip
    )
    best = base.transform_filter("datum.case == 0").mark_line(strokeWidth=4, color=theme.RED).encode(tooltip=tooltip)
    text = alt.Chart(texts).mark_text(dy=-9, fontSize=11 if place.theme == "screen" else 7).encode(x, y, text="text:N")
    return sized(every + best + text, place)


def _on_axes(cases: pd.DataFrame, axes: list[str], quantity: Quantity, title: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Where the line of each case (`case`, the best is 0) crosses each axis, and what is written there."""
    lines, texts = [], []
    columns = {**{header_of(name): name for name in axes}, title: quantity.column}
    for head, column in columns.items():
        heights, labels = _heights(cases[column], formatter(quantity) if column == quantity.column else cell)
        lines += [{"axis": head, "y": y, "case": case} for case, y in enumerate(heights)]
        texts += [{"axis": head, "y": y, "text": text} for text, y in labels.items()]
    return pd.DataFrame(lines), pd.DataFrame(texts)


def _heights(values: pd.Series[Any], written: Callable[[Any], str]) -> tuple[list[float], dict[str, float]]:
    """Where each value stands between 0 and 1, evenly by its place among the different ones; and what stands there."""
    numeric = is_numeric(values)
    distinct = sorted(values.unique()) if numeric else list(dict.fromkeys(values.map(cell)))
    places = {value: place / max(1, len(distinct) - 1) for place, value in enumerate(distinct)}
    step = -(-len(distinct) // _MOST_LABELS)
    labelled = {*distinct[::step], distinct[-1]} if step > 1 else set(distinct)
    labels = {_short(written(value)): place for value, place in places.items() if value in labelled}
    return [places[value] for value in (values if numeric else values.map(cell))], labels


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
