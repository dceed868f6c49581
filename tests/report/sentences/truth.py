"""The facts in a table of runs, computed from its rows only, without the code of the report."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats

Key = tuple[str, str]
Values = np.ndarray[Any, np.dtype[np.float64]]

_OF_WORK = ("model", "model_options", "task", "parameter_count", "flops_per_item", "dtype", "math_mode")
_KEYS = ["sweep", "case"]
_USER = ("param_size", "param_note")
# A ratio in a sentence, with its interval, and the quantities of which more is better.
RATIO = r"([\d.,e+-]+)x(?: \[(?:([\d.,e+-]+), ([\d.,e+-]+)|unknown)\])?"
BETTER = {"throughput_items_per_s": 1, "speedup": 1, "metric_rate_it_per_s": 1}
RATES = {"lstm": "sequences/s", "alexnet": "images/s", "mlp": "samples/s"}  # the unit of the throughput
SURE = 0.25  # p-value above which no claim of significance can be right, however it is computed
HARDLY = 1e-7  # p-value below which no claim of noise can be right


class Truth:
    """A table of runs by case; `given` is the ID of the case that speedups are over, if a user names one."""

    def __init__(self, repetitions: pd.DataFrame, given: str | None = None) -> None:
        self.rows = repetitions
        self.given = given
        self.runs = dict(iter(repetitions.groupby(_KEYS, sort=False)))
        used = dict(iter(repetitions[_is_valid(repetitions)].groupby(_KEYS, sort=False)))
        self.valid = {key: used.get(key, rows.iloc[:0]) for key, rows in self.runs.items()}
        self.measured = [key for key, rows in self.valid.items() if len(rows)]
        self.sweeps = list(repetitions["sweep"].unique())
        self._first = {
            key: (self.valid[key] if len(self.valid[key]) else rows).iloc[0] for key, rows in self.runs.items()
        }
        self._user = [name for name in _USER if repetitions[name].astype(str).nunique() > 1]
        self._workloads = {key: self._workload(row) for key, row in self._first.items()}
        self._values: dict[tuple[Key, str], Values] = {}

    def case(self, key: Key) -> pd.Series[Any]:
        """A row of the case: a valid one, if any."""
        return self._first[key]

    def workload(self, key: Key) -> tuple[str, ...]:
        return self._workloads[key]

    def _workload(self, row: pd.Series[Any]) -> tuple[str, ...]:
        if row["framework"] != "command":
            return tuple(str(row[name]) for name in _OF_WORK)
        return tuple(str(row[name]) for name in self._user)

    def alike(self, key: Key) -> list[Key]:
        """The measured cases of the same workload."""
        return [other for other in self.measured if self.workload(other) == self.workload(key)]

    def runs_of(self, key: Key, column: str) -> Values:
        """One value per valid run: the time in s of a step for quantities that are made of the time."""
        if (key, column) not in self._values:
            self._values[key, column] = self._runs_of(key, column)
        return self._values[key, column]

    def _runs_of(self, key: Key, column: str) -> Values:
        rows = self.valid[key]
        if column.startswith("metric_"):
            return rows[column].dropna().to_numpy(dtype=np.float64)
        if column == "peak_memory_bytes":
            return self.runs[key][column].dropna().to_numpy(dtype=np.float64)
        if column.startswith("energy"):
            return rows["energy_measured_j_per_item"].dropna().to_numpy(dtype=np.float64)
        return np.array([np.median(times) for times in rows["times_s"]])

    def value(self, key: Key, column: str) -> float:
        if column == "peak_memory_bytes":
            return float(self.runs[key][column].max())
        runs = self.runs_of(key, column)
        if not runs.size:
            return math.nan
        middle, items = float(np.median(runs)), self.case(key)["items_per_step"]
        items = math.nan if pd.isna(items) else float(items)
        if column == "throughput_items_per_s":
            return items / middle if middle > 0 else math.nan
        if column == "speedup":
            base = self.base(key)
            speed = self.value(key, "throughput_items_per_s")
            return speed / self.value(base, "throughput_items_per_s") if base else math.nan
        if column == "price_per_million_items":
            return middle * 2.0 / 3600 / items * 1e6
        if column == "energy_kwh_per_million_items":
            return math.nan if math.isnan(items) else middle / 3.6e6 * 1e6
        return middle

    def same_problem(self, key: Key, other: Key) -> bool:
        one, two = self.case(key), self.case(other)
        names = [name for name in ("batch_size", "items_per_step") if pd.notna(one[name])]
        return any(pd.notna(two[name]) and one[name] == two[name] for name in names)

    def in_order(self, keys: Iterable[Key]) -> list[Key]:
        return sorted(keys, key=lambda key: (self.sweeps.index(key[0]), self.case(key)["case_index"]))

    def base(self, key: Key) -> Key | None:
        """The given or first measured case of the same workload and problem size; None for commands."""
        if self.case(key)["framework"] == "command":
            return None
        ordered = self.in_order(self.alike(key))
        if self.given:
            return next((other for other in ordered if other[1] == self.given and self.same_problem(key, other)), None)
        mates = [other for other in ordered if self.case(other)["batch_size"] == self.case(key)["batch_size"]]
        if len(mates) > 1:
            return mates[0]
        earlier = [other for other in ordered[: ordered.index(key)] if self.same_problem(key, other)]
        return next((other for other in earlier if self.base(other) == other), key)

    def all_disturbed(self, key: Key) -> bool:
        return bool((self.valid[key]["interference"] == "interference").any())

    def only_unmonitored(self, key: Key) -> bool:
        used, all_of = self.valid[key], self.runs[key]
        lost = (all_of["interference"] == "interference") & (all_of["status"] == "completed")
        return bool((used["interference"] == "unmonitored").all() and lost.any())

    def per_item(self, key: Key, column: str) -> Values:
        """The values of runs_of, of quantities that are made of the time for one item."""
        runs, items = self.runs_of(key, column), self.case(key)["items_per_step"]
        scaled = column in ("throughput_items_per_s", "speedup", "price_per_million_items") and not pd.isna(items)
        return runs / float(items) if scaled else runs

    def overlaps(self, key: Key, other: Key, column: str) -> bool:
        """Whether the ranges of the runs of two cases have a value in common."""
        one, two = self.per_item(key, column), self.per_item(other, column)
        return bool(one.min() <= two.max() and two.min() <= one.max())

    def p_value(self, key: Key, other: Key, column: str) -> float | None:
        """Whether the runs of two cases differ, by logarithms if possible; None with a single run on a side."""
        one, two = self.runs_of(key, column), self.runs_of(other, column)
        if min(one.size, two.size) < 2:
            return None
        if np.ptp(one) <= 1e-9 * abs(one[0]) and np.ptp(two) <= 1e-9 * abs(two[0]):
            return None  # no noise to test against
        if min(one.min(), two.min()) > 0:
            one, two = np.log(one), np.log(two)
        if column in ("throughput_items_per_s", "speedup", "price_per_million_items"):
            pair = [self.case(each)["items_per_step"] for each in (key, other)]
            shift = [0.0 if pd.isna(items) else math.log(float(items)) for items in pair]
            one, two = one - shift[0], two - shift[1]
        by_ranks = scipy.stats.mannwhitneyu(one, two).pvalue  # robust to outliers, as medians are
        return float(min(by_ranks, scipy.stats.ttest_ind(one, two, equal_var=False).pvalue))

    @cached_property
    def failed(self) -> dict[Key, pd.Series[Any]]:
        """The first run that did not complete of each case that has one."""
        lost = self.rows[self.rows["status"] != "completed"].drop_duplicates(_KEYS)
        return {(row["sweep"], row["case"]): row for _, row in lost.iterrows()}


def _is_valid(rows: pd.DataFrame) -> pd.Series[bool]:
    """The completed runs without interference, or all completed ones of a case without such runs."""
    completed = rows["status"] == "completed"
    clean = completed & (rows["interference"] != "interference")
    return clean | (completed & ~clean.groupby([rows[key] for key in _KEYS]).transform("any"))


def named(text: str, row: pd.Series[Any]) -> bool:
    """Whether each NAME=VALUE in a text is one of this case."""
    for part in text.replace(" with ", ", ").split(", "):
        name, found, value = part.partition("=")
        column = name if name in row else f"param_{name}"
        if found and str(None if pd.isna(row[column]) else row[column]).replace("None", "-") != value:
            return False
    return True


def close(one: float, two: float, relative: float = 1e-6) -> bool:
    return (math.isnan(one) and math.isnan(two)) or math.isclose(one, two, rel_tol=relative, abs_tol=1e-300)
