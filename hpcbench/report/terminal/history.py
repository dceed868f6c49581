"""The history of an experiment on a terminal, with a row per case and a line per change, and as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
from rich.console import Console
from rich.text import Text

from hpcbench.analysis.cases.labels import label
from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.analysis.stats.change_points import LEVEL, MIN_VALUES, fewest_values
from hpcbench.analysis.stats.equivalence import FASTER, MARGIN, SLOWER
from hpcbench.analysis.stats.intervals import Interval
from hpcbench.analysis.stats.ratio_text import in_brackets
from hpcbench.analysis.studies.comparison import BETTER, WORSE
from hpcbench.analysis.studies.history import CaseHistory, Point, Shift, history_points
from hpcbench.core.samples import medians_of_parts
from hpcbench.report.text.bars import around, shows_blocks, sparkline
from hpcbench.report.text.counts import print_omitted
from hpcbench.report.text.failures import MAX_NAMED
from hpcbench.report.text.numbers import SCALED, column_format, factor, percent
from hpcbench.report.text.ranking import columns_in_words, heading
from hpcbench.report.text.text_columns import Column, as_table, fitting
from hpcbench.util.causes import cause
from hpcbench.util.text import plural

TREND = 20  # characters of a sparkline
NARROWEST = 0.1  # minimum range of a sparkline, as a fraction of the median
# Values of Column.gives_way.
_TREND, _FIRST, _SWEEPS = 1, 2, 3
_ENDS = ("first", "latest")  # columns of values
_STYLES = {SLOWER: "red", WORSE: "red", FASTER: "green", BETTER: "green"}
_COMMIT = 10  # characters of a commit hash


@dataclass(frozen=True)
class History:
    """The history of an experiment: `cases` has a row per case, identified by the columns `shown`."""

    experiment: str
    site: str
    sweeps: list[str]  # oldest first
    quantity: Quantity
    histories: list[CaseHistory]
    shifts: list[Shift]  # latest first
    cases: pd.DataFrame
    shown: list[str]

    @cached_property
    def labels(self) -> dict[str, str]:
        """Return the labels of the cases; empty if there is only one case."""
        rows = self.cases.iterrows()
        return {row["case"]: label(row, self.shown) if self.shown else "" for _, row in rows}

    @property
    def gone(self) -> list[str]:
        """Return the cases that are not in the latest sweep."""
        return [each.case for each in self.histories if each.points[-1].sweep != self.sweeps[-1]]

    @property
    def judged(self) -> list[str]:
        """Return the cases with enough values for change points, all above 0."""
        fewest = self.fewest_sweeps
        return [each.case for each in self.histories if len(each.compared) >= fewest and each.has_ratios]

    @cached_property
    def fewest_sweeps(self) -> int:
        """Return the number of sweeps with a case from which on its changes can be detected; more for more cases."""
        tested = sum(len(each.compared) >= MIN_VALUES and each.has_ratios for each in self.histories)
        return fewest_values(max(tested, 1))

    @property
    def latest_shifts(self) -> dict[str, Shift]:
        """Return the latest change by case, for cases with a change, latest first."""
        latest: dict[str, Shift] = {}
        for shift in self.shifts:
            latest.setdefault(shift.case, shift)
        return latest

    @property
    def numbered(self) -> list[tuple[int, Shift]]:
        """Return the changes with their numbers in figures, from 1, oldest first."""
        return list(enumerate(sorted(self.shifts, key=lambda shift: shift.after.started_at), 1))

    @property
    def got_worse(self) -> list[Shift]:
        """Return the latest changes, if for the worse, of the cases of the latest sweep."""
        gone = set(self.gone)
        return [each for case, each in self.latest_shifts.items() if case not in gone and each.word in (SLOWER, WORSE)]

    @property
    def unmeasured(self) -> list[str]:
        """Return the cases of the latest sweep that have no value in it."""
        latest = [each.points[-1] for each in self.histories]
        return [point.case for point in latest if point.sweep == self.sweeps[-1] and point.value is None]

    @property
    def undecided(self) -> list[str]:
        """Return the cases of the latest sweep without a verdict: too few values, none above 0, or no direction."""
        gone, judged = set(self.gone), set(self.judged)
        unclear = {case for case, shift in self.latest_shifts.items() if not shift.word}
        cases = [each.case for each in self.histories if each.case not in gone]
        return [case for case in cases if case not in judged or case in unclear]


def print_history(history: History, top: int, console: Console) -> None:
    """Print the first `top` cases, the latest `top` changes, remarks and a summary."""
    console.print(Text(title(history), style="italic"), soft_wrap=True)
    console.print(as_table(fitting(columns(history, top, plain=not shows_blocks(console)), console.width)))
    print_omitted(len(history.histories) - top, console, "--csv", "case")
    for shift in history.shifts[:top]:
        console.print(line(history, shift), soft_wrap=True)
    print_omitted(len(history.shifts) - top, console, "--csv", "change")
    for remark in remarks(history):
        console.print(Text(remark), soft_wrap=True)
    console.print(summary(history), soft_wrap=True)


def title(history: History) -> str:
    """Return experiment, site, number of sweeps, first date and quantity."""
    sweeps = plural(len(history.sweeps), "sweep")
    begin = min(each.points[0].started_at for each in history.histories)[:10]
    return f"{history.experiment} on {history.site}: {sweeps} from {begin} on, {heading(history.quantity)}"


def columns(history: History, top: int, *, plain: bool) -> list[Column]:
    """Return the columns of the first `top` cases: identification, number of sweeps, first, latest, ratio, trend."""
    shown = history.histories[:top]
    known = [[point.value for point in each.compared if point.value is not None] for each in shown]
    ends = [(values[0], values[-1]) if values else (math.nan, math.nan) for values in known]
    unit, written = column_format(history.quantity, pd.Series(ends, dtype=object).explode().astype(float))
    first, latest = (f"{name} ({unit})" if history.quantity.unit in SCALED and unit else name for name in _ENDS)
    ratios = [
        values[-1] / values[0] if values and each.has_ratios else math.nan
        for each, values in zip(shown, known, strict=True)
    ]
    measured = [
        Column("sweeps", tuple(f"{len(values):,}" for values in known), _SWEEPS),
        Column(first, tuple(written(value) for value, _ in ends), _FIRST),
        Column(latest, tuple(written(value) for _, value in ends)),
        Column("ratio", tuple(map(factor, ratios))),
        Column("trend", tuple(_trend(values, plain=plain) for values in known), _TREND),
    ]
    return [*columns_in_words(history.cases.head(top), history.shown, measured), *measured]


def _trend(values: list[float], *, plain: bool) -> str:
    parts = medians_of_parts(values, TREND)
    return sparkline(parts, around(parts, NARROWEST), plain=plain) if parts else ""


def line(history: History, shift: Shift) -> Text:
    """Return a change in one line: date, sweep, case, size, and facts that also changed."""
    name = " ".join(part for part in (shift.after.sweep, history.labels[shift.case]) if part)
    text = Text(f"{shift.after.started_at[:10]} {name}: ")
    text.append(size(shift), style=_STYLES.get(shift.word, ""))
    return text.append(f"; also changed: {also_changed(shift)}" if shift.also_changed else "")


def size(shift: Shift) -> str:
    """Return the ratio with 95 % CI: `1.12x [1.10, 1.14] slower`; for a metric `1.12x [1.10, 1.14] as much, worse`.

    A note on interference in the values next to the change may follow.
    """
    values = plural(shift.interference_runs, "value")
    noisy = f" (interference in all runs of {values} next to the change)" if shift.interference_runs else ""
    ratio = Interval(*shift.ratio[:3])
    if shift.word not in (SLOWER, FASTER):
        return f"{in_brackets(ratio)} as much{', ' * bool(shift.word)}{shift.word}{noisy}"
    if ratio.estimate < 1:
        ratio = Interval(1 / ratio.estimate, ratio.high and 1 / ratio.high, ratio.low and 1 / ratio.low)
    return f"{in_brackets(ratio)} {shift.word}{noisy}"


def also_changed(shift: Shift) -> str:
    """Return the facts that also changed: `torch 2.5.1 -> 2.6.0, kernel 6.1.0 -> 6.8.0`."""
    return ", ".join(
        f"{name} {_short(name, old)} -> {_short(name, new)}" for name, (old, new) in shift.also_changed.items()
    )


def _short(name: str, value: str) -> str:
    return value[:_COMMIT] if name == "git_commit" else value


def note(shift: Shift) -> str:
    """Return the annotation of a change in a figure."""
    return f"{size(shift)}; {also_changed(shift)}" if shift.also_changed else size(shift)


def notes(history: History) -> dict[tuple[str, str], str]:
    """Return the annotations of changes, by the first sweep after the change and case."""
    return {(shift.after.sweep, shift.case): note(shift) for shift in history.shifts}


def remarks(history: History) -> list[str]:
    """Return sentences on values and cases that are not compared, with reasons."""
    lines = list(_failures(history))
    for each in history.histories:
        name = history.labels[each.case] or history.experiment
        if each.other_work:
            left_out = plural(each.other_work, "sweep")
            lines.append(f"left out: {left_out} in which {name} has a different workload than in the latest")
        if not each.has_ratios:
            lines.append(f"changes cannot be detected in {name}: no ratio (a value is 0 or less)")
    if history.gone:
        names = ", ".join(history.labels[case] for case in history.gone)
        lines.append(f"not in the latest sweep, {history.sweeps[-1]}: {names}")
    return lines


def _failures(history: History) -> Iterator[str]:
    """Yield a sentence for each cause of cases without a value in their latest sweep, with the message of the first."""
    found: dict[tuple[str, str, str], list[CaseHistory]] = {}
    for each in history.histories:
        last = each.points[-1]
        if last.value is None:
            found.setdefault((last.status, last.sweep, cause(last.error or "no value")), []).append(each)
    for (status, sweep, _), cases in found.items():
        names = [history.labels[each.case] or history.experiment for each in cases]
        named = names[0] if len(names) == 1 else f"{len(names):,} cases ({'; '.join(names[:MAX_NAMED])}"
        named += f"{'; ...' * (len(names) > MAX_NAMED)})" if len(names) > 1 else ""
        yield f"{status} {named} in {sweep}: {cases[0].points[-1].error or 'no value'}"


def summary(history: History) -> str:
    """Return one line with the number of changes and the rule."""
    judged = len(history.judged)
    if not judged:
        return f"too few sweeps to detect changes: a case needs {history.fewest_sweeps}"
    count = len(history.shifts)
    rule = f"rank-sum tests, false alarms in {percent(LEVEL)} of all calls at most, margin {percent(MARGIN)}"
    return f"{plural(count, 'change') if count else 'no change'} in {plural(judged, 'case')} ({rule})"


def history_table(history: History) -> pd.DataFrame:
    """Return a table with a row per sweep and case: the points of the figure, runs, status and error."""
    frame = history_points(history.histories, notes(history), history.labels)
    more: list[dict[str, Any]] = [_more(point) for each in history.histories for point in each.points]
    frame.insert(4, "quantity", history.quantity.column)
    return pd.concat([frame, pd.DataFrame(more, index=frame.index)], axis=1)


def _more(point: Point) -> dict[str, Any]:
    return {name: getattr(point, name) for name in ("runs", "interference_runs", "status", "error")}
