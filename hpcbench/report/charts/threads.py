"""Figures of thread modes: the step time of each mode by context, and the gains between modes, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from hpcbench.analysis.stats.intervals import Interval
from hpcbench.analysis.stats.ratio_text import times as ratio
from hpcbench.analysis.studies.threads import GAINS, MODES, ThreadContext, overall
from hpcbench.report.charts import theme
from hpcbench.report.charts.components import (
    Figure,
    Measure,
    colour,
    known_limits,
    measure,
    names,
    shape,
    shortened,
    sized,
)
from hpcbench.report.charts.descriptions import capital
from hpcbench.report.charts.theme import PlotSize
from hpcbench.report.terminal.threads import NAMES
from hpcbench.report.text.numbers import duration
from hpcbench.report.text.units import header_of
from hpcbench.util.text import plural

MAX_DRAWN = 40  # contexts that fit in a figure


def figures_of_threads(contexts: Sequence[ThreadContext]) -> list[Figure]:
    """Return the figures of times and gains of the modes; none without contexts."""
    if not contexts:
        return []
    shown = contexts[:MAX_DRAWN]
    is_cut = len(contexts) > MAX_DRAWN
    left = f" The figure shows the first {MAX_DRAWN} of {len(contexts):,} contexts." if is_cut else ""
    sentences = [_overall(contexts, *pair) for pair in GAINS]
    text = " ".join(filter(None, sentences))
    modes = ", ".join(NAMES[name] for name in MODES if any(name in each.modes for each in contexts))
    of_times = f"Medians over the runs with 95 % CI. Thread modes: {modes}. The best fixed "
    of_times += "setting is measured by runs that did not choose it, if there are several." + left
    of_gains = "Ratio of the step times of two modes with 95 % CI. To the right of the line, the first is faster."
    of_gains += left
    return [
        Figure("threads-times", "Step time by threads", of_times, text, partial(times, shown)),
        Figure("threads-gains", "Gain by threads", of_gains, text, partial(gains, shown)),
    ]


def times(contexts: Sequence[ThreadContext], place: PlotSize) -> Any:
    """Return a chart of step times with a row per context and a point per mode."""
    rows = [(_label(each), name, each.modes[name].time_s) for name in MODES for each in contexts if name in each.modes]
    axis = measure("step time", "s", [interval.estimate for *_, interval in rows])
    frame = _frame([(label, NAMES[name], interval) for label, name, interval in rows], axis, duration)
    return _rows(frame, axis, contexts, "threads", place)


def gains(contexts: Sequence[ThreadContext], place: PlotSize) -> Any:
    """Return a chart of gains with a row per context, a point per pair of modes, and a line at 1."""
    rows = [
        (_label(each), f"{NAMES[faster]} over {NAMES[slower]}", each.gains[slower, faster])
        for slower, faster in GAINS
        for each in contexts
        if (slower, faster) in each.gains
    ]
    axis = measure("gain", "", [interval.estimate for *_, interval in rows])
    line = alt.Chart(pd.DataFrame({"value": [1.0]})).mark_rule(color=theme.QUIET).encode(alt.X("value:Q"))
    return _rows(_frame(rows, axis, ratio), axis, contexts, "gain", place, line)


def _overall(contexts: Sequence[ThreadContext], slower: str, faster: str) -> str:
    found = overall(contexts, slower, faster)
    if not found:
        return ""
    gain = f"{NAMES[faster]} over {NAMES[slower]} gains {ratio(found.gain.estimate)}"
    return capital(f"{gain}, the median of {plural(found.contexts, 'context')}.")


def _label(context: ThreadContext) -> str:
    return ", ".join(value for _, value in context.context) or "all cases"


def _frame(rows: Sequence[tuple[str, str, Interval]], axis: Measure, written: Any) -> pd.DataFrame:
    """Return the fields name, colour, value, low, high and shown; NaN limits unless both are finite."""
    frame = pd.DataFrame(
        {
            "name": [label for label, *_ in rows],
            "colour": [name for _, name, _ in rows],
            **{end: [getattr(each, end) for *_, each in rows] for end in ("low", "high")},
            "value": [each.estimate for *_, each in rows],
            "shown": [written(each.estimate) for *_, each in rows],
        }
    )
    ends = ["value", "low", "high"]
    frame[ends] = (frame[ends].astype(float) / axis.factor).replace([np.inf, -np.inf], np.nan)
    unknown = frame[["low", "high"]].isna().any(axis=1)
    frame.loc[unknown, ["low", "high"]] = np.nan
    return frame.assign(name=names(frame["name"]))


def _rows(
    frame: pd.DataFrame, axis: Measure, contexts: Sequence[ThreadContext], title: str, place: PlotSize, line: Any = None
) -> Any:
    """Return a chart of points with intervals, grouped by context."""
    domain, order = list(dict.fromkeys(frame["colour"])), list(dict.fromkeys(frame["name"]))
    heading = shortened(", ".join(header_of(name) for name, _ in contexts[0].context)) or None
    scale = axis.scale_of(frame["value"], frame["low"], frame["high"])
    y = alt.Y("name:N", title=heading, sort=order, axis=alt.Axis(grid=True, labelOverlap=False, tickBand="extent"))
    offset = alt.YOffset("colour:N", sort=domain)
    base = alt.Chart(frame).encode(y, offset, colour(title, frame["colour"]))
    rules = known_limits(base).mark_rule(clip=True).encode(alt.X("low:Q", title=axis.title, scale=scale), x2="high:Q")
    tooltip = [
        alt.Tooltip("name:N", title="context"),
        alt.Tooltip("colour:N", title=title),
        alt.Tooltip("shown:N", title=axis.title),
    ]
    points = base.mark_point(opacity=1).encode(
        alt.X("value:Q", title=axis.title, scale=scale), shape(title, frame["colour"]), tooltip=tooltip
    )
    row = (9 if place.theme == "screen" else 5) * (len(domain) + 1)
    layers = [*([line] if line is not None else []), rules, points]
    return sized(alt.layer(*layers), place, max(60, row * len(order)))
