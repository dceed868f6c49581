"""The chart of the history of the cases of an experiment, with changes marked and annotated."""

from __future__ import annotations

import math
import textwrap
from functools import partial
from typing import Any, NamedTuple

import altair as alt
import pandas as pd

from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.analysis.stats.equivalence import FASTER, SLOWER
from hpcbench.analysis.studies.comparison import BETTER, WORSE
from hpcbench.analysis.studies.history import history_points
from hpcbench.report.charts import history as chart
from hpcbench.report.charts import theme
from hpcbench.report.charts.components import (
    Figure,
    Measure,
    known_limits,
    measure,
    shortened,
    sized,
    slug,
    with_limits,
)
from hpcbench.report.charts.theme import PlotSize
from hpcbench.report.terminal.history import History, line, notes, summary
from hpcbench.report.text.bars import around
from hpcbench.report.text.numbers import formatter

NARROWEST = 0.1  # minimum range of an axis, as a fraction of the median
MAX_TOLD = 4  # annotated changes per case
_COLOURS = {SLOWER: theme.RED, WORSE: theme.RED, FASTER: theme.GREEN, BETTER: theme.GREEN}
_DRAWN = [theme.RED, theme.GREEN, theme.QUIET]
_LONGEST, _LONGEST_NOTE = 160, 240  # characters of the label of a case, and of the note of a change
_OF_SIZE = {"screen": 0.57, "paper": 0.55}  # width of a character relative to the font size
_FEW = 100  # sweeps whose points are distinguishable
_DAYS_WITH_HOURS = 5


class _Look(NamedTuple):
    """Sizes in pixels: height of a panel, fonts of texts and numbers, margins; `point` is an area in px²."""

    height: int
    text: int
    number: int
    point: int
    right: int
    left: int


_LOOKS = {"screen": _Look(90, 12, 11, 28, 20, 16), "paper": _Look(48, 8, 7, 8, 14, 6)}


class _Period(NamedTuple):
    begin: pd.Timestamp
    end: pd.Timestamp

    @property
    def format(self) -> str:
        return "%m-%d %H:%M" if (self.end - self.begin).days < _DAYS_WITH_HOURS else "%Y-%m-%d"

    def part(self, times: pd.Series[str]) -> list[float]:
        """Return the positions of times in the period, from 0 to 1."""
        whole = (self.end - self.begin).total_seconds() or 1.0
        return [(time - self.begin).total_seconds() / whole for time in pd.to_datetime(times, utc=True)]


def draw(points: pd.DataFrame, quantity: Quantity, place: PlotSize) -> Any:
    """Return one panel per case over a common time axis, each with its own vertical axis.

    `points` are rows of history.history_points with a level, and the columns `number` and `word`, which are set for the
    first sweep after a change.
    """
    times = pd.to_datetime(points["started_at"], utc=True)
    period = _Period(times.min(), times.max())
    cases = [rows for _, rows in points.groupby("case", sort=False)]
    if len(cases) == 1 and place.fluid:
        return sized(_panel(cases[0], quantity, period, place, is_last=True, is_only=True), place)
    style, width = _LOOKS[place.theme], _width(place)
    height = place.height if len(cases) == 1 else style.height
    panels = [
        _panel(rows, quantity, period, place, is_last=number == len(cases), is_only=len(cases) == 1).properties(
            width=width, height=height
        )
        for number, rows in enumerate(cases, 1)
    ]
    return alt.vconcat(*panels, spacing=style.text).resolve_scale(x="shared")


def _width(place: PlotSize) -> int:
    """Return the width of the plot area in pixels."""
    return place.facet(1)[0] - _LOOKS[place.theme].right


def _panel(
    rows: pd.DataFrame, quantity: Quantity, period: _Period, place: PlotSize, *, is_last: bool, is_only: bool
) -> Any:
    axis = measure(quantity.title, quantity.unit, rows["value"])
    frame = _frame(rows, quantity, axis)
    x = _x(period, place, labels=is_last)
    scale = _scale(frame, axis)
    ticks = alt.Axis() if is_only else alt.Axis(tickCount=3, labelOverlap=False, titleLimit=_LOOKS[place.theme].height)
    y = alt.Y("value:Q", title=axis.title if is_only else axis.unit or None, scale=scale, axis=ticks)
    base = alt.Chart(frame).encode(x)
    few, style = len(frame) <= _FEW, _LOOKS[place.theme]
    thin = 0.5 if place.theme == "paper" else 1.0
    intervals = known_limits(base).mark_rule(strokeWidth=thin, opacity=0.5 if few else 0.2)
    dots = base.mark_point(size=style.point if few else style.point / 3, opacity=0.8 if few else 0.5)
    levels = base.mark_line(strokeWidth=2 * thin, color=theme.PURPLE)
    layers = [
        intervals.encode(alt.Y("low:Q", scale=scale), alt.Y2("high:Q")),
        dots.encode(y, tooltip=_tooltip(quantity, changes=False)),
        levels.encode(alt.Y("level:Q", scale=scale), detail="segment:N"),
    ]
    changes = frame[frame["number"].notna()]
    lanes = _lanes(period.part(changes["started_at"]), changes["number"], place)
    if lanes:
        layers.append(_marks(changes.assign(above=lanes), x, quantity, place))
    return alt.layer(*layers).properties(**_title(rows, changes, place))


def _frame(rows: pd.DataFrame, quantity: Quantity, axis: Measure) -> pd.DataFrame:
    """Return the fields of a panel, with values in the unit of the axis."""
    written = formatter(quantity)
    limits = with_limits(
        rows.rename(columns=dict(zip(("value", "low", "high"), (quantity.column, *quantity.limits), strict=True))),
        quantity,
        axis,
    )
    shown = [written(value) for value in rows["value"]]
    tooltip_columns = rows[["sweep", "started_at", "level", "number", "word", "note"]]
    segment = rows["number"].notna().cumsum()
    return tooltip_columns.assign(**limits, level=rows["level"] / axis.factor, segment=segment, shown=shown)


def _x(period: _Period, place: PlotSize, *, labels: bool) -> alt.X:
    """Return the axis of time, with labels only for the lowest panel."""
    title = "start of the sweep (UTC)" if labels else None
    ticks = 3 if place.theme == "paper" else 6
    axis = alt.Axis(format=period.format, labelAngle=0, labelOverlap="greedy", tickCount=ticks, labels=labels)
    return alt.X("started_at:T", title=title, scale=alt.Scale(type="utc", nice=False, padding=8), axis=axis)


def _scale(frame: pd.DataFrame, axis: Measure) -> alt.Scale:
    """Return the scale of values, at least NARROWEST wide, so that noise is not magnified."""
    if axis.is_log:
        return axis.scale
    drawn = pd.concat([frame[name] for name in ("value", "low", "high")]).dropna()
    low, high = around(drawn.tolist(), NARROWEST)
    return alt.Scale(domain=[low, high], nice=True, zero=False)


def _tooltip(quantity: Quantity, *, changes: bool) -> list[alt.Tooltip]:
    fields = [alt.Tooltip("sweep:N"), alt.Tooltip("shown:N", title=shortened(quantity.title))]
    return (
        [alt.Tooltip("number:Q", title="change"), alt.Tooltip("note:N", title="what"), *fields] if changes else fields
    )


def _marks(changes: pd.DataFrame, x: alt.X, quantity: Quantity, place: PlotSize) -> Any:
    """Return a vertical line at each change, with its number above the panel."""
    style, tooltip = _LOOKS[place.theme], _tooltip(quantity, changes=True)
    marked = alt.Chart(changes.assign(colour=[_COLOURS.get(word, theme.QUIET) for word in changes["word"]]))
    scale = alt.Scale(domain=_DRAWN, range=_DRAWN)
    rules = marked.mark_rule(strokeDash=theme.DASHES[2], strokeWidth=style.number / 7)
    numbers = marked.mark_text(fontSize=style.number, baseline="bottom")
    return rules.encode(x, alt.Color("colour:N", scale=scale, legend=None), tooltip=tooltip) + numbers.encode(
        x, alt.Y("above:Q", scale=None, axis=None), text="number:Q", tooltip=tooltip
    )


def _lanes(parts: list[float], numbers: pd.Series[float], place: PlotSize) -> list[int]:
    """Return the vertical position of each number above the panel, in negative pixels, without overlaps."""
    size = _LOOKS[place.theme].number
    ends: list[float] = []  # right end of the last number in each lane
    found = []
    for part, number in zip(parts, numbers, strict=True):
        half = size * (0.35 * len(str(int(number))) + 0.15)
        centre = part * _width(place)
        lane = next((lane for lane, end in enumerate(ends) if end <= centre - half), len(ends))
        ends[lane : lane + 1] = [centre + half]
        found.append(-2 - lane * (size + 1))
    return found


def _title(rows: pd.DataFrame, changes: pd.DataFrame, place: PlotSize) -> dict[str, Any]:
    """Return the title: the label of the case and, except on a page, which lists them separately, its changes."""
    style = _LOOKS[place.theme]
    name = _wrapped(rows["label"].iloc[0], _LONGEST, style.text, place)
    lines = [] if place.fluid else _change_lines(changes, place)
    if not name and not lines:
        return {}
    title = {"text": name or lines, "fontSize": style.text, "anchor": "start", "frame": "group", "offset": 4}
    if not name:
        title |= {"fontSize": style.number, "fontWeight": "normal"}
    elif lines:
        title |= {"subtitle": lines, "subtitleFontSize": style.number}
    return {"title": {**title, "dx": 0 if place.fluid else style.left + place.facet(1)[0] - place.width}}


def _change_lines(changes: pd.DataFrame, place: PlotSize) -> list[str]:
    """Return the lines of the latest MAX_TOLD changes."""
    lines = [f"... and {len(changes) - MAX_TOLD} more before these"] if len(changes) > MAX_TOLD else []
    for _, row in changes.tail(MAX_TOLD).iterrows():
        text = f"{int(row['number'])}: {row['started_at'][:10]} {row['note']}"
        lines += _wrapped(text, _LONGEST_NOTE, _LOOKS[place.theme].number, place)
    return lines


def _wrapped(text: str, longest: int, size: int, place: PlotSize) -> list[str]:
    """Return a text, cut to `longest` characters, in lines that fit the width; `size` is the font size in pixels."""
    return textwrap.wrap(
        shortened(text, longest), int((place.width - _LOOKS[place.theme].left) / (_OF_SIZE[place.theme] * size))
    )


MAX_CASES = 8
MAX_SWEEPS = 2000  # latest sweeps per case, about one per pixel


def figures_of_history(history: History) -> list[Figure]:
    """Return one figure of the MAX_CASES cases that changed most; none without measurements."""
    cases = _drawn(history)
    if not cases:
        return []
    numbers = {(shift.after.sweep, shift.case): number for number, shift in history.numbered}
    words = {(shift.after.sweep, shift.case): shift.word for shift in history.shifts}
    found = [each for each in history.histories if each.case in cases]
    points = history_points(found, notes(history), history.labels)
    points = points[points["level"].notna()].groupby("case", sort=False).tail(MAX_SWEEPS)
    keys = pd.MultiIndex.from_frame(points[["sweep", "case"]])
    points = points.assign(number=keys.map(numbers), word=keys.map(words))
    title = f"{history.quantity.title.capitalize()} of {history.experiment} on {history.site}, by sweep"
    name = slug(f"history {history.experiment} {history.quantity.column}")
    drawn = partial(chart.draw, points, history.quantity)
    return [Figure(name, title, _caption(history, cases), _description(history, cases), drawn)]


def _drawn(history: History) -> set[str]:
    """Return the MAX_CASES cases with the largest changes."""
    most = {each.case: 0.0 for each in history.histories if each.compared}
    for shift in history.shifts:
        most[shift.case] = max(most[shift.case], abs(math.log(shift.ratio.estimate)))
    return set(sorted(most, key=lambda case: -most[case])[:MAX_CASES])


def _caption(history: History, cases: set[str]) -> str:
    sentences = ["Points: median over the runs of a sweep with 95 % CI; lines: median between"]
    sentences.append("changes. Each case has its own scale." if len(cases) > 1 else "changes.")
    if any(shift.case in cases for shift in history.shifts):
        sentences.append(f"Dashed lines: changes{_colours(history)}")
    measured = sum(bool(each.compared) for each in history.histories)
    if measured > len(cases):
        sentences.append(f"The figure shows {len(cases)} of {measured:,} cases, those with the largest changes first.")
    if any(len(each.compared) > MAX_SWEEPS for each in history.histories):
        sentences.append(f"The latest {MAX_SWEEPS:,} sweeps of each case are drawn.")
    return " ".join(sentences)


def _colours(history: History) -> str:
    return "." if history.quantity.more_is_better is None else " (red: worse, green: better)."


def _description(history: History, cases: set[str]) -> str:
    lines = [f"{number}: {line(history, shift).plain}" for number, shift in history.numbered if shift.case in cases]
    return ". ".join([summary(history), *lines]) + "."
