"""Figures of validations: where the errors of an array are, and where repeated calls differ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from hpcbench.analysis.cases.observations import ValidationMaps
from hpcbench.core.validation.result import NOT_VALIDATED, HeatMap, array_title
from hpcbench.report.charts import theme
from hpcbench.report.charts.components import LARGEST, Figure, gradient, measure, shortened, sized
from hpcbench.report.charts.theme import PlotSize
from hpcbench.report.text.numbers import figure
from hpcbench.util.text import plural

MAX_CASES = 4  # cases with figures
_ERROR, _VARIANCE = "absolute error", "variance over calls"
_NOT_FINITE = "not finite"


def figures_of_validation(found: Sequence[ValidationMaps]) -> Iterator[Figure]:
    """Yield the error maps of the first MAX_CASES cases, and the variance maps of those whose calls differ.

    `found` has the largest ratio to the bound of rounding errors first.
    """
    for number, each in enumerate(found[:MAX_CASES], 1):
        caption, of = f"{_about(each)} {_cells(each.error)}", f": {each.case}" if each.case else ""
        if number == 1 and len(found) > MAX_CASES:
            caption += (
                f" Of {plural(len(found), 'case')}, those with the {MAX_CASES} largest ratios have such a figure."
            )
        title = f"Error of {array_title(each.error.array)}{of}"
        yield _figure(f"error-map-{number}", title, caption, each.error, _ERROR)
        if each.variance:
            title = f"Variance of {array_title(each.variance.array)} over calls{of}"
            caption = f"Calls with the same input return different bits. {_cells(each.variance)}"
            yield _figure(f"variance-map-{number}", title, caption, each.variance, _VARIANCE)


def _about(each: ValidationMaps) -> str:
    verdict = "results are not validated" if each.verdict == NOT_VALIDATED else f"validation {each.verdict}"
    verdict += f": {each.reason}" if each.reason else ""
    if math.isfinite(each.ratio):
        return f"The largest ratio of an error to its bound is {figure(each.ratio)}; the {verdict}."
    return f"The {verdict}."


def _cells(found: HeatMap) -> str:
    rows, columns = found.shape
    if [len(found.rows), len(found.rows[0])] == [rows, columns]:
        return "Each cell is an element."
    return "Each cell has the largest value of a block of elements."


def _figure(name: str, title: str, caption: str, found: HeatMap, what: str) -> Figure:
    frame = _frame(found)
    known = frame[frame["shown"] != _NOT_FINITE]
    text = f"{what.capitalize()} of {found.shape[0]:,} x {found.shape[1]:,} elements."
    if len(known):
        worst = known.iloc[int(known["value"].to_numpy().argmax())]
        text += f" The largest is {worst['shown']}, in rows {worst['rows']} and columns {worst['columns']}."
    if len(known) < len(frame):
        count = len(frame) - len(known)
        text += f" {plural(count, 'cell')} of {len(frame):,} {'is' if count == 1 else 'are'} not finite."
    return Figure(name, title, caption, text, partial(draw, found, what))


def _frame(found: HeatMap) -> pd.DataFrame:
    """Return a row per cell: its value, and its first and last row and column."""
    edges = [
        np.linspace(0, size, count + 1).astype(int)
        for size, count in zip(found.shape, (len(found.rows), len(found.rows[0])), strict=True)
    ]
    cells = [
        {"value": value, "top": top, "bottom": bottom, "left": left, "right": right}
        for row, top, bottom in zip(found.rows, edges[0], edges[0][1:], strict=False)
        for value, left, right in zip(row, edges[1], edges[1][1:], strict=False)
    ]
    frame = pd.DataFrame(cells).astype({"value": float})
    frame["value"] = frame["value"].where(frame["value"].abs() < LARGEST)
    frame["shown"] = [_NOT_FINITE if math.isnan(value) else figure(value) for value in frame["value"]]
    for name, first, end in (("rows", "top", "bottom"), ("columns", "left", "right")):
        frame[name] = [_span(*pair) for pair in zip(frame[first], frame[end], strict=True)]
    return frame


def _span(first: int, end: int) -> str:
    return str(first) if end - first == 1 else f"{first} to {end - 1}"


def draw(found: HeatMap, what: str, place: PlotSize) -> Any:
    """Return a heat map: the last dimension of the array from left to right, all others from top to bottom."""
    frame = _frame(found)
    axis = measure(what, "", frame["value"], log=False)
    sides = [alt.Scale(domain=[0, size], nice=False) for size in reversed(found.shape)]
    sides[1].reverse = True
    base = alt.Chart(frame).encode(
        alt.X("left:Q", title="last dimension", scale=sides[0], axis=alt.Axis(grid=False, format="d")),
        alt.X2("right:Q"),
        alt.Y("top:Q", title="other dimensions", scale=sides[1], axis=alt.Axis(grid=False, format="d")),
        alt.Y2("bottom:Q"),
        tooltip=[
            alt.Tooltip("rows:N", title="rows"),
            alt.Tooltip("columns:N", title="columns"),
            alt.Tooltip("shown:N", title=shortened(what)),
        ],
    )
    scale = alt.Scale(scheme=theme.ORDERED, zero=True)
    legend = gradient()
    legend.format = ".1~e"
    cells = base.transform_filter("isValid(datum.value)").mark_rect()
    chart = cells.encode(alt.Color("value:Q", title=axis.title, scale=scale, legend=legend))
    if frame["value"].isna().any():
        chart += base.transform_filter("!isValid(datum.value)").mark_rect(color=theme.RED)
    return sized(chart, place)
