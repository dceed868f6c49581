"""Figures of profiles of operators: shares of a step by kind, and a roofline with a point per operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from hpcbench.analysis.profiles.step_profile import StepProfile
from hpcbench.analysis.results import Results
from hpcbench.analysis.studies.roofline import ceilings
from hpcbench.core.machine_peaks import MachinePeaks
from hpcbench.report.charts import theme
from hpcbench.report.charts.components import Figure, colour, measure, names, shape, shortened, sized
from hpcbench.report.charts.roofline import MAX_ROOFS, drawn_roofs, rooflines
from hpcbench.report.charts.theme import PlotSize
from hpcbench.report.text.numbers import duration
from hpcbench.report.text.profiles.clock_states import DEFAULT_ONLY
from hpcbench.report.text.profiles.operators import short_name, tensors
from hpcbench.util.text import plural

MAX_BARS = 24  # profiles with a bar
MAX_SERIES = 6  # profiles in a roofline
MAX_POINTS = 60  # operators of a profile in a roofline, the longest
_OTHERS, _NOTHING = "other kinds", "no operator"
_MAX_KINDS = len(theme.COLOURS) - 2
_MAX_TOLD = 3  # kinds of a profile in a description

Named = Sequence[tuple[str, StepProfile]]


def figures_of_operators(results: Results, peaks: Iterable[MachinePeaks] = ()) -> list[Figure]:
    """Return the figures of shares and of the roofline of operators, as far as profiles have the data."""
    timed = [profile for profile in results.profiles if profile.sum_s > 0]
    if not timed:
        return []
    only = f" {DEFAULT_ONLY}" if results.clock_states else ""
    labels = names(pd.Series([results.label_of_profile(profile) for profile in timed]))
    named = list(zip(labels, timed, strict=True))
    found = [_of_shares(named), *_of_roofline(named, results, peaks)]
    return [replace(figure, caption=figure.caption + only) for figure in found]


def _of_shares(named: Named) -> Figure:
    caption = "Time of the operators of one step by kind, as a fraction of the time of the whole step."
    caption += " Above 100 %, the operators take longer than the whole step."
    caption += f" {_NOTHING.capitalize()}: framework overhead."
    if len(named) > MAX_BARS:
        caption += f" The figure shows the first {MAX_BARS} of {len(named):,} profiles."
    text = " ".join(f"{name}: {_told(profile)}." for name, profile in named[:MAX_BARS])
    return Figure("operators-shares", "Time by kind of operator", caption, text, partial(shares, named[:MAX_BARS]))


def _told(profile: StepProfile) -> str:
    kinds = _by_kind(profile)
    return ", ".join(f"{kind} {100 * share:.0f} %" for kind, share in kinds.head(_MAX_TOLD).items())


def _by_kind(profile: StepProfile) -> pd.Series[float]:
    return (
        profile.kinds.groupby(profile.kinds["kind"].map(shortened))["share"]
        .sum()
        .sort_values(ascending=False, kind="stable")
    )


def shares(named: Named, place: PlotSize) -> Any:
    """Return a chart with a bar per profile, stacked by kind of operator; the rest of a step is the last part."""
    totals = pd.concat([_by_kind(profile) for _, profile in named]).groupby(level=0).max()
    shown = list(totals.sort_values(ascending=False, kind="stable").index[:_MAX_KINDS])
    rows = [row for name, profile in named for row in _parts(name, profile, shown)]
    frame = pd.DataFrame(rows, columns=["name", "colour", "share", "time"])
    fixed = {_OTHERS: theme.INDIGO, _NOTHING: theme.GREY}
    order = [kind for kind in (*shown, _OTHERS, _NOTHING) if kind in set(frame["colour"])]
    colours = [fixed.get(kind) or theme.COLOURS[shown.index(kind)] for kind in order]
    legend = alt.Legend(title="kind of operator")
    frame["order"] = frame["colour"].map(order.index)
    frame = frame.sort_values("order", kind="stable")
    bars = (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            alt.X("share:Q", title="fraction of the step", axis=alt.Axis(format="%")),
            alt.Y("name:N", title=None, sort=[name for name, _ in named], axis=alt.Axis(labelOverlap=False)),
            alt.Color("colour:N", scale=alt.Scale(domain=order, range=colours), sort=order, legend=legend),
            alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("name:N", title="case"),
                alt.Tooltip("colour:N", title="kind"),
                alt.Tooltip("share:Q", title="fraction of the step", format=".1%"),
                alt.Tooltip("time:N", title="time per step"),
            ],
        )
    )
    return sized(bars, place, max(60, (26 if place.theme == "screen" else 14) * len(named)))


def _parts(name: str, profile: StepProfile, shown: Sequence[str]) -> Iterator[tuple[str, str, float, str]]:
    """Yield name, kind, share and time in words of each part of a bar."""
    whole_s = profile.network_s or profile.sum_s
    kinds = _by_kind(profile)
    parts = {kind: float(kinds[kind]) for kind in shown if kind in kinds}
    parts[_OTHERS] = float(kinds[~kinds.index.isin(shown)].sum())
    parts[_NOTHING] = profile.overhead or 0.0
    for kind, share in parts.items():
        if share > 0:
            yield name, kind, share, duration(share * whole_s)


def _of_roofline(named: Named, results: Results, peaks: Iterable[MachinePeaks]) -> Iterator[Figure]:
    points = [(name, _points(profile)) for name, profile in named[:MAX_SERIES]]
    known = [(name, rows) for name, rows in points if len(rows)]
    if not known:
        return
    keys = {(profile.sweep, profile.case) for _, profile in named}
    cases = [key in keys for key in zip(results.cases["sweep"], results.cases["case"], strict=True)]
    roofs = ceilings(results.cases[cases], peaks).head(MAX_ROOFS)
    caption = "Each point is an operator with counted FLOPs; larger points take a larger fraction of the step. "
    caption += (
        "Lines: peak performance, measured by hpcbench doctor."
        if len(roofs)
        else "No peaks: hpcbench doctor has not measured them."
    )
    if len(named) > MAX_SERIES:
        caption += f" The figure shows the first {MAX_SERIES} of {len(named):,} profiles."
    text = " ".join(f"{name}: {_fastest(rows)}." for name, rows in known)
    yield Figure("operators-roofline", "Roofline of operators", caption, text, partial(roofline, known, roofs))


def _points(profile: StepProfile) -> pd.DataFrame:
    """Return the longest operators with FLOPs, bytes and a time."""
    rows = profile.operators
    drawn = rows[["flops_per_s", "intensity_flops_per_byte", "share"]].to_numpy(dtype=np.float64)
    known: pd.DataFrame = rows.loc[(np.isfinite(drawn) & (drawn > 0)).all(axis=1)]
    return known.head(MAX_POINTS)


def _fastest(rows: pd.DataFrame) -> str:
    best = rows.iloc[int(rows["flops_per_s"].to_numpy().argmax())]
    rate = f"{best['flops_per_s'] / 1e9:.3g} GFLOP/s at {best['intensity_flops_per_byte']:.3g} FLOP/byte"
    return f"the highest rate of {plural(len(rows), 'operator')} is that of {short_name(best['operator'])}, {rate}"


def roofline(known: Sequence[tuple[str, pd.DataFrame]], roofs: pd.DataFrame, place: PlotSize) -> Any:
    """Return a roofline chart with a point per operator, coloured by profile, and the peaks `roofs`."""
    points = pd.concat([rows.assign(colour=name) for name, rows in known], ignore_index=True)
    lines = rooflines(roofs, points["intensity_flops_per_byte"])
    axis = measure("rate", "FLOP/s", pd.concat([points["flops_per_s"], lines["value"]]), log=True)
    lines["value"] /= axis.factor
    frame = pd.DataFrame(
        {
            "colour": points["colour"],
            "x": points["intensity_flops_per_byte"],
            "value": points["flops_per_s"] / axis.factor,
            "share": points["share"],
            "name": [shortened(short_name(name)) for name in points["operator"]],
            "tensors": [shortened(tensors(text)) for text in points["arguments"]],
            "phase": points["phase"],
        }
    )
    x = alt.X("x:Q", title="arithmetic intensity (FLOP/byte)", scale=alt.Scale(type="log", nice=False, padding=8))
    y = alt.Y("value:Q", title=axis.title, scale=axis.scale)
    largest = 400 if place.theme == "screen" else 90
    dots = (
        alt.Chart(frame)
        .mark_point(opacity=0.8)
        .encode(
            x,
            y,
            colour("case", frame["colour"]),
            shape("case", frame["colour"]),
            alt.Size(
                "share:Q", title="fraction of the step", scale=alt.Scale(range=[largest / 20, largest]), legend=None
            ),
            tooltip=[
                alt.Tooltip("name:N", title="operator"),
                alt.Tooltip("tensors:N", title="tensors"),
                alt.Tooltip("phase:N", title="phase"),
                alt.Tooltip("colour:N", title="case"),
                alt.Tooltip("share:Q", title="fraction of the step", format=".1%"),
                alt.Tooltip("x:Q", title="FLOP/byte", format=".3~g"),
                alt.Tooltip("value:Q", title=axis.title, format=".4~g"),
            ],
        )
    )
    return sized(drawn_roofs(lines, x, y, place) + dots if len(lines) else dots, place)
