"""The history of an experiment as a figure, with the changes in its caption."""

from __future__ import annotations

import math
from functools import partial

import pandas as pd

from hpcbench.analysis.history import history_points
from hpcbench.report.charts import history as chart
from hpcbench.report.charts.base import Figure, slug
from hpcbench.report.history import History, line, notes, summary

MOST_CASES = 8
MOST_SWEEPS = 2000  # of a case, the latest: no screen has more pixels


def figures_of_history(history: History) -> list[Figure]:
    """One figure, or none where nothing was measured. Of more than MOST_CASES, those that changed most are drawn."""
    cases = _drawn(history)
    if not cases:
        return []
    numbers = {(shift.after.sweep, shift.case): number for number, shift in history.numbered}
    words = {(shift.after.sweep, shift.case): shift.word for shift in history.shifts}
    found = [each for each in history.histories if each.case in cases]
    points = history_points(found, notes(history), history.labels)
    points = points[points["level"].notna()].groupby("case", sort=False).tail(MOST_SWEEPS)
    keys = pd.MultiIndex.from_frame(points[["sweep", "case"]])
    points = points.assign(number=keys.map(numbers), word=keys.map(words))
    title = f"{history.quantity.title.capitalize()} of {history.experiment} on {history.site}, sweep by sweep"
    name = slug(f"history {history.experiment} {history.quantity.column}")
    drawn = partial(chart.draw, points, history.quantity)
    return [Figure(name, title, _caption(history, cases), _description(history, cases), drawn)]


def _drawn(history: History) -> set[str]:
    """The cases of the figure."""
    most = {each.case: 0.0 for each in history.histories if each.compared}
    for shift in history.shifts:
        most[shift.case] = max(most[shift.case], abs(math.log(shift.ratio.estimate)))
    return set(sorted(most, key=lambda case: -most[case])[:MOST_CASES])


def _caption(history: History, cases: set[str]) -> str:
    said = ["A point is the median of a sweep's repetitions, with its 95 % interval; a line is the median between"]
    said.append("changes. Each case has its own scale." if len(cases) > 1 else "changes.")
    if any(shift.case in cases for shift in history.shifts):
        said.append(f"Dashed: where it changed{_colours(history)}")
    measured = sum(bool(each.compared) for each in history.histories)
    if measured > len(cases):
        said.append(f"Of {measured:,} cases, these {len(cases)} changed most, or come first.")
    if any(len(each.compared) > MOST_SWEEPS for each in history.histories):
        said.append(f"The latest {MOST_SWEEPS:,} sweeps of each case are drawn.")
    return " ".join(said)


def _colours(history: History) -> str:
    return "." if history.quantity.more_is_better is None else ", red for the worse, green for the better."


def _description(history: History, cases: set[str]) -> str:
    told = [f"{number}: {line(history, shift).plain}" for number, shift in history.numbered if shift.case in cases]
    return ". ".join([summary(history), *told]) + "."
