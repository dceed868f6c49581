"""The history of a case over many sweeps: its values, its change points, and facts that changed at the same time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.case_table import Row, valid_rows
from hpcbench.analysis.cases.confounders import PLACE
from hpcbench.analysis.cases.quantities import OF_TIME, THROUGHPUT, Quantity
from hpcbench.analysis.cases.valid_samples import with_times_only
from hpcbench.analysis.stats.change_points import MIN_VALUES, SHORTEST, Change, change_points
from hpcbench.analysis.stats.equivalence import FASTER, SLOWER
from hpcbench.analysis.stats.intervals import Floats, Interval, median_interval, median_of
from hpcbench.analysis.stats.two_samples import Ratio, ratio_of_medians
from hpcbench.analysis.studies.comparison import BETTER, WORSE
from hpcbench.core.samples import INTERFERENCE, SAMPLES
from hpcbench.core.status import COMPLETED

_NO_VERSION = ("none",)
SOFTWARE, VERSION, DRIVER = "software", "framework_version", "driver"
# Facts that may explain a change, in the order of the report; the driver is not in the rows.
FACTS = (
    VERSION,
    SOFTWARE,
    "hpcbench_version",
    "git_commit",
    "kernel",
    "cpu_model",
    "cpu_governor",
    "cpu_turbo",
    "gpu_model",
    "outside_variables",
    PLACE,
)
Facts = Mapping[str, tuple[str, ...]]
FactChanges = dict[str, tuple[str, str]]  # values before and after, by fact


class Point(NamedTuple):
    """One case in one sweep. `value` is the median of its runs' medians; None without valid runs.

    `has_interference` is True if all runs had interference, so that these count.
    """

    sweep: str
    started_at: str
    case: str
    status: str
    error: str | None
    value: float | None
    low: float | None
    high: float | None
    runs: int
    interference_runs: int
    work: tuple[Any, ...]
    on_gpus: bool
    facts: Facts
    has_interference: bool = False


class Shift(NamedTuple):
    """A change between two sweeps, with the ratio new / old of the medians of both segments."""

    case: str
    before: Point
    after: Point
    ratio: Ratio
    p_value: float
    word: str  # faster, slower, better or worse; empty if the better direction is unknown
    also_changed: FactChanges
    interference_runs: int = 0  # number of values with interference, among up to SHORTEST values on each side


class CaseHistory(NamedTuple):
    """The points of a case over the sweeps that include it, in the order of time.

    `compared` are the points with a value and the workload of the latest such point; `changes` have indices into it.
    """

    case: str
    points: list[Point]
    compared: list[Point]
    changes: list[Change]

    @property
    def other_work(self) -> int:
        """Return the number of sweeps in which the case has a value of another workload."""
        return sum(point.value is not None for point in self.points) - len(self.compared)

    @property
    def has_ratios(self) -> bool:
        """Return whether all compared values are above 0."""
        return all(point.value is not None and point.value > 0 for point in self.compared)

    @property
    def levels(self) -> dict[str, float]:
        """Return for each compared point, by sweep, the median of the values between the neighbouring changes."""
        values = _values(self)
        found: dict[str, float] = {}
        for start, end in pairwise([0, *(change.place for change in self.changes), len(self.compared)]):
            level = median_of(values[start:end]) if end > start else math.nan
            found |= {point.sweep: level for point in self.compared[start:end]}
        return found


def points(rows: Iterable[Row], quantity: Quantity, *, intervals: bool) -> list[Point]:
    """Return one point per case and sweep, from the rows of runs in the order of time.

    Without `intervals`, which dominate the run time, `low` and `high` are None.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["sweep"], row["case"]), []).append(with_times_only(row))
    return [_point(group, quantity, intervals) for group in groups.values()]


def _point(rows: list[Row], quantity: Quantity, intervals: bool) -> Point:
    used = valid_rows(rows)
    failed = next((row for row in rows if row["status"] != COMPLETED), None)
    first = (used or rows)[0]
    series = _series(used, quantity)
    value = _value(series, intervals)
    if quantity == THROUGHPUT:
        items = first["items_per_step"]
        value = value.rate(items) if value and value.estimate and items is not None else None
    estimate, low, high = value or (None, None, None)
    return Point(
        first["sweep"],
        first["started_at"],
        first["case"],
        failed["status"] if failed else COMPLETED,
        failed["error"] if failed else None,
        estimate,
        low,
        high,
        len(series),
        sum(row["status"] == COMPLETED and row["interference"] == INTERFERENCE for row in rows),
        first["work"],
        first["on_gpus"],
        {name: _distinct(row[name] for row in used) for name in FACTS},
        any(row["interference"] == INTERFERENCE for row in used),
    )


def _series(rows: list[Row], quantity: Quantity) -> list[Floats]:
    """Return the measurements of each run, or the single value of each for a metric."""
    if quantity in OF_TIME:
        return [row[SAMPLES] for row in rows]
    numbers = [row.get(quantity.column) for row in rows]
    return [np.array([float(number)]) for number in numbers if number is not None and math.isfinite(number)]


def _value(series: list[Floats], intervals: bool) -> Interval | None:
    if not series:
        return None
    if intervals:
        return median_interval(series)
    return Interval(median_of(np.array([median_of(samples) for samples in series])), None, None)


def _distinct(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(sorted({str(value) for value in values if value is not None}))


def case_histories(found: Iterable[Point]) -> list[CaseHistory]:
    """Return the history of each case; it has changes only with enough values, all above 0."""
    by_case: dict[str, list[Point]] = {}
    for point in found:
        by_case.setdefault(point.case, []).append(point)
    unjudged = [CaseHistory(case, each, _compared(each), []) for case, each in by_case.items()]
    long = [history for history in unjudged if len(history.compared) >= MIN_VALUES and history.has_ratios]
    changes = dict(zip((each.case for each in long), change_points([_values(each) for each in long]), strict=True))
    return [history._replace(changes=changes.get(history.case, [])) for history in unjudged]


def _compared(found: list[Point]) -> list[Point]:
    measured = [point for point in found if point.value is not None]
    return [point for point in measured if point.work == measured[-1].work]


def _values(history: CaseHistory) -> Floats:
    return np.array([point.value for point in history.compared], dtype=np.float64)


def shifts(history: CaseHistory, quantity: Quantity, drivers: Mapping[str, tuple[str, ...]]) -> list[Shift]:
    """Return the changes of a case with the facts that changed at the same time; `drivers` are GPU drivers by sweep."""
    return [_shift(history, change, quantity, drivers) for change in history.changes]


def _shift(history: CaseHistory, change: Change, quantity: Quantity, drivers: Mapping[str, tuple[str, ...]]) -> Shift:
    ratio = ratio_of_medians(*change.sides(_values(history)))
    before, after = history.compared[change.place - 1], history.compared[change.place]
    changed = dict(_also_changed(history, change))
    if before.on_gpus:
        changed |= _fact_changes(DRIVER, drivers.get(before.sweep, ()), drivers.get(after.sweep, ()))
    near = history.compared[max(0, change.place - SHORTEST) : change.place + SHORTEST]
    interference_runs = sum(point.has_interference for point in near)
    return Shift(history.case, before, after, ratio, change.p_value, _word(quantity, ratio), changed, interference_runs)


def _word(quantity: Quantity, ratio: Ratio) -> str:
    if quantity.more_is_better is None:
        return ""
    improved = (ratio.estimate > 1) == quantity.more_is_better
    if quantity in OF_TIME:
        return FASTER if improved else SLOWER
    return BETTER if improved else WORSE


def _also_changed(history: CaseHistory, change: Change) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the facts whose sets of values before and after the change are disjoint, with both sets."""
    before, after = (history.compared[place].facts for place in (change.place - 1, change.place))
    packages = _packages(before[SOFTWARE], after[SOFTWARE])
    for name in FACTS:
        changes = _fact_changes(name, before[name], after[name])
        if name == SOFTWARE:
            yield from packages.items()
        elif name == VERSION and changes.get(name) in packages.values():
            continue  # already reported as a package of `software`
        elif name != PLACE or _stays(history.compared, change.place):
            yield from changes.items()


def _fact_changes(name: str, before: tuple[str, ...], after: tuple[str, ...]) -> FactChanges:
    if not before or not after or set(before) & set(after):
        return {}
    return {name: ("; ".join(before), "; ".join(after))}


def _stays(compared: Sequence[Point], place: int) -> bool:
    """Return whether the nodes were the same for SHORTEST sweeps before and after, so that a change is informative."""
    sides = compared[place - SHORTEST : place], compared[place : place + SHORTEST]
    return all(len({point.facts[PLACE] for point in side}) == 1 for side in sides)


def _packages(before: tuple[str, ...], after: tuple[str, ...]) -> FactChanges:
    """Return the packages that differ between lists of software such as `python 3.11.2, numpy 2.4.6`."""
    old, new = _versions(before), _versions(after)
    if not old or not new:
        return {}
    changes: FactChanges = {}
    for name in dict.fromkeys((*old, *new)):
        changes |= _fact_changes(name, old.get(name, _NO_VERSION), new.get(name, _NO_VERSION))
    return changes


def _versions(lists: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for package in (part for each in lists for part in each.split(", ")):
        name, _, version = package.rpartition(" ")
        found.setdefault(name, set()).add(version)
    return {name: tuple(sorted(versions)) for name, versions in found.items()}


def history_points(
    histories: Iterable[CaseHistory], notes: Mapping[tuple[str, str], str], labels: Mapping[str, str]
) -> pd.DataFrame:
    """Return the table of a plot, with one row per sweep and case.

    `notes`, by sweep and case, are for the first sweep after a change; `labels` are by case. The column `level` is the
    median between two changes.
    """
    columns = ["sweep", "started_at", "case", "label", "value", "low", "high", "level", "is_change", "note"]
    rows = [
        {
            "sweep": point.sweep,
            "started_at": point.started_at,
            "case": point.case,
            "label": labels.get(point.case, point.case),
            "value": point.value,
            "low": point.low,
            "high": point.high,
            "level": levels.get(point.sweep),
            "is_change": (point.sweep, point.case) in notes,
            "note": notes.get((point.sweep, point.case)),
        }
        for history in histories
        for levels in [history.levels]
        for point in history.points
    ]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype({"value": float, "low": float, "high": float, "level": float, "is_change": bool})
