"""Figures of the values that programs logged over their steps, and of trainings over their epochs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import altair as alt
import pandas as pd

from hpcbench.analysis.results import Results
from hpcbench.analysis.training.divergence import UNIT
from hpcbench.report.charts.components import Figure, colour, names, numbered, sized
from hpcbench.report.charts.theme import PlotSize
from hpcbench.report.text.numbers import figure
from hpcbench.report.text.training.divergence import names_of
from hpcbench.util.text import plural

MAX_FIGURES = 6
MAX_ARMS = 12  # lines of the figure of equal epochs
MIN_POINTS = 3  # of a curve
MAX_PAIRS = 8  # of trainings in a figure


def figures_of_curves(frame: pd.DataFrame) -> Iterator[Figure]:
    """Yield a figure per name, with a curve per case, from the rows of `collect.curves`; at most MAX_FIGURES."""
    several = [rows for _, rows in frame.groupby(["name", "axis"], sort=False) if _longest(rows) >= MIN_POINTS]
    for number, rows in enumerate(several[:MAX_FIGURES], 1):
        name = str(rows["name"].iat[0])
        axis = str(rows["axis"].iat[0])
        title = f"{name.replace('_', ' ')} over {axis}s"
        ends = rows.groupby("case", sort=False)["value"].last()
        text = f"Last values: {'; '.join(f'{case}: {figure(value)}' for case, value in ends.items())}."
        source = "Values logged by the program" if axis == "step" else f"Values of each {axis}"
        caption = f"{source}: the first run of {plural(len(ends), 'case')}."
        if number == MAX_FIGURES < len(several):
            caption += f" The table has the last values of {plural(len(several) - MAX_FIGURES, 'more name')}."
        yield Figure(
            numbered(f"curve {name}", number), title[:1].upper() + title[1:], caption, text, partial(draw, rows)
        )


def figures_of_divergence(results: Results) -> Iterator[Figure]:
    """Yield the figure of the relative L2 norms of the first MAX_PAIRS pairs of trainings, if there are any."""
    pairs = [pair for pair in results.divergences if not pair.reason]
    drawn = pairs[:MAX_PAIRS]
    named = [" / ".join(names_of(results, pair)) for pair in drawn]
    rows = [
        (name, step, norm)
        for name, pair in zip(named, drawn, strict=True)
        for step, norm in zip(pair.steps, pair.relative_l2, strict=True)
        if step and norm > 0 and math.isfinite(norm)
    ]
    if not rows:
        return
    frame = pd.DataFrame(rows, columns=["case", "step", "value"])
    ends = "; ".join(f"{name}: {figure(pair.relative_l2[-1])}" for name, pair in zip(named, drawn, strict=True))
    caption = "Relative L2 norm of the difference of all weights. Dashed: what rounding weights to float32 explains."
    if len(pairs) > len(drawn):
        caption += f" The figure shows the first {len(drawn)} of {len(pairs)} pairs."
    text = f"After the last step: {ends}."
    yield Figure("divergence", "Divergence of trainings over steps", caption, text, partial(draw_divergence, frame))


def draw_divergence(rows: pd.DataFrame, place: PlotSize) -> Any:
    """Return a chart of `value` over `step`, both logarithmic, a line per `case`, and the limit of rounding."""
    shown = rows.assign(colour=names(rows["case"]))[["colour", "step", "value"]]
    steps = sorted(set(shown["step"]))
    limit = pd.DataFrame({"step": steps, "value": [2 * step * UNIT for step in steps]})
    x = alt.X("step:Q", title="step", scale=alt.Scale(type="log", nice=False))
    y = alt.Y("value:Q", title="relative L2 norm", scale=alt.Scale(type="log"))
    lines = alt.Chart(shown).mark_line(point=True).encode(x, y, colour("pair", shown["colour"]))
    dashed = alt.Chart(limit).mark_line(strokeDash=[4, 4], color="grey").encode(x, y)
    return sized(alt.layer(dashed, lines), place)


def figures_of_equal_epochs(frame: pd.DataFrame) -> Iterator[Figure]:
    """Yield the figure of the mean accuracies by epoch, one line per strategy and number of ranks, at most MAX_ARMS."""
    arms = list(dict.fromkeys(frame["case"]))
    if not arms or _longest(frame) < MIN_POINTS:
        return
    rows = frame[frame["case"].isin(arms[:MAX_ARMS])]
    ends = rows.groupby("case", sort=False)["value"].last()
    caption = "Accuracy on the validation split: means over runs and seeds, before the first run ends."
    if len(arms) > MAX_ARMS:
        caption += f" The figure shows the first {MAX_ARMS} of {len(arms)} trainings."
    text = f"Last values: {'; '.join(f'{case}: {figure(value)}' for case, value in ends.items())}."
    yield Figure("equal-epochs", "Accuracy by epoch, strategy and ranks", caption, text, partial(draw, rows))


def draw(rows: pd.DataFrame, place: PlotSize) -> Any:
    """Return a chart of one name: `value` over `step`, a line per `case`."""
    title, axis = str(rows["name"].iat[0]).replace("_", " "), str(rows["axis"].iat[0])
    drawn = rows.assign(colour=names(rows["case"]))[["colour", "step", "value"]]
    lines = (
        alt.Chart(drawn)
        .mark_line(strokeWidth=1.5 if place.theme == "screen" else 1)
        .encode(
            alt.X("step:Q", title=axis, axis=alt.Axis(tickMinStep=1), scale=alt.Scale(nice=False)),
            alt.Y("value:Q", title=title, scale=alt.Scale(zero=False)),
            colour("case", drawn["colour"]),
            tooltip=[
                alt.Tooltip("colour:N", title="case"),
                alt.Tooltip("step:Q", title=axis),
                alt.Tooltip("value:Q", title=title, format=".4~g"),
            ],
        )
    )
    return sized(lines, place)


def _longest(rows: pd.DataFrame) -> int:
    return int(rows.groupby("case")["step"].count().max())
