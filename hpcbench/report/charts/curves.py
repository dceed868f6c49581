"""Figures of the values that programs logged over their steps, and of trainings over their epochs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import altair as alt
import pandas as pd

from hpcbench.report.charts.components import Figure, colour, names, numbered, sized
from hpcbench.report.charts.theme import PlotSize
from hpcbench.report.text.numbers import figure
from hpcbench.util.text import plural

MAX_FIGURES = 6
MAX_ARMS = 12  # lines of the figure of equal epochs
MIN_POINTS = 3  # of a curve


def figures_of_curves(frame: pd.DataFrame) -> Iterator[Figure]:
    """Yield a figure per name, with a curve per case, from the rows of `collect.curves`; at most MAX_FIGURES."""
    several = [rows for _, rows in frame.groupby("name", sort=False) if _longest(rows) >= MIN_POINTS]
    for number, rows in enumerate(several[:MAX_FIGURES], 1):
        name = str(rows["name"].iat[0])
        axis = str(rows["axis"].iat[0])
        title = f"{name.replace('_', ' ')} over {axis}s"
        ends = rows.groupby("case", sort=False)["value"].last()
        text = f"Last values: {'; '.join(f'{case}: {figure(value)}' for case, value in ends.items())}."
        source = "Values logged by the program" if axis == "step" else "Values of each epoch"
        caption = f"{source}: the first run of {plural(len(ends), 'case')}."
        if number == MAX_FIGURES < len(several):
            caption += f" The table has the last values of {plural(len(several) - MAX_FIGURES, 'more name')}."
        yield Figure(
            numbered(f"curve {name}", number), title[:1].upper() + title[1:], caption, text, partial(draw, rows)
        )


def figures_of_equal_epochs(frame: pd.DataFrame) -> Iterator[Figure]:
    """Yield the figure of the mean accuracies by epoch, one line per strategy and number of ranks, at most MAX_ARMS."""
    arms = list(dict.fromkeys(frame["case"]))
    if not arms or _longest(frame) < MIN_POINTS:
        return
    rows = frame[frame["case"].isin(arms[:MAX_ARMS])]
    ends = rows.groupby("case", sort=False)["value"].last()
    caption = "Accuracy on the validation split: means over runs and seeds, up to the last epoch that all runs have."
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
