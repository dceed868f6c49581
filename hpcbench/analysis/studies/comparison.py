"""The comparison of the cases of one sweep with the same cases of another."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.case_table import Row, by_case, case_table, valid_rows
from hpcbench.analysis.cases.quantities import NOT_FOUND, TIME, Quantity
from hpcbench.analysis.cases.workloads import WORK
from hpcbench.analysis.stats import equivalence
from hpcbench.analysis.stats.equivalence import FASTER, INCONCLUSIVE, SAME, SLOWER, Pair, Verdict
from hpcbench.analysis.stats.intervals import Floats, median_of
from hpcbench.config.metrics import PREFIX
from hpcbench.core.samples import INTERFERENCE, PROBED, SAMPLES
from hpcbench.core.status import COMPLETED

BETTER, WORSE = "better", "worse"  # verdicts on metrics, instead of faster and slower
MISSING, NOT_COMPARED = "missing", "not compared"
WORST_FIRST = (SLOWER, WORSE, INCONCLUSIVE, SAME, FASTER, BETTER, MISSING, NOT_COMPARED)
FAILING = (SLOWER, WORSE, MISSING)
UNDECIDED = (INCONCLUSIVE, NOT_COMPARED)
# Columns that should agree on both sides, since a comparison of code requires one machine.
MACHINE = ("site", "cpu_model", "cpu_governor", "cpu_turbo", "gpu_model", "kernel")
VERSIONS = ("framework_version", "software")
# Effective thread counts, which may differ although all parameters of a case agree: by variables of the shell, of
# modules or of the site file.
THREADS = ("effective_intra_op_threads", "effective_inter_op_threads")
_UNSET = "not set"

_OF_A_METRIC = {FASTER: BETTER, SLOWER: WORSE}
_NUMBERS = ("ratio", "ratio_ci_low", "ratio_ci_high", "p_value", "rank_sum_p", "base_median", "new_median")
_WHOLE = ("base_runs", "new_runs", "runs_needed")
_COLUMNS = ("quantity", "verdict", *_NUMBERS, *_WHOLE, "base_status", "new_status", "reason")


class _Side(NamedTuple):
    """One sweep: its cases by id, the values of the runs by case and quantity, and how to repeat its runs."""

    cases: dict[str, Row]
    values: dict[tuple[str, str], Floats]
    again: str

    @classmethod
    def of(cls, repetitions: pd.DataFrame, again: str) -> _Side:
        found: dict[tuple[str, str], list[float]] = {}
        for (_, case), rows in by_case(repetitions).items():
            for row in valid_rows(rows):
                for quantity, value in _measured(row):
                    found.setdefault((case, quantity), []).append(value)
        table = case_table(repetitions)
        cases = {case["case"]: case for case in table.to_dict("records")}
        return cls(cases, {key: np.array(values) for key, values in found.items()}, again)


class _Row(NamedTuple):
    """One quantity of one case: a pair of values to compare, or verdict and reason if it cannot be compared."""

    case: str
    quantity: str
    pair: Pair | None
    word: str = ""
    reason: str = ""


class Comparison(NamedTuple):
    """Two sweeps compared. `rows` are the quantities of the cases, worst first.

    `machines` and `versions` are the columns that differ, with the values of each side. `settings` are the effective
    threads and the environment variables that differ in the same way. `warnings` are about the cases.
    """

    base: str
    new: str
    margin: float
    rows: pd.DataFrame
    machines: dict[str, tuple[str, str]]
    versions: dict[str, tuple[str, str]]
    settings: dict[str, tuple[str, str]]
    warnings: list[str]

    @property
    def compared(self) -> int:
        """Return the number of quantities with a ratio."""
        return int(self.rows["ratio"].notna().sum())

    def counts(self) -> dict[str, int]:
        """Return the number of each verdict, worst first."""
        found = self.rows["verdict"].value_counts()
        return {word: int(found[word]) for word in WORST_FIRST if word in found}


def compare(
    base: pd.DataFrame,
    new: pd.DataFrame,
    margin: float,
    metrics: Collection[Quantity] = (),
    carried: Sequence[str] = (),
    again: tuple[str, str] = ("", ""),
) -> Comparison:
    """Compare the run tables of two sweeps by the time and by `metrics` of commands.

    `carried` are columns of a case to copy to the result; `margin` is relative (see equivalence.evaluate). `again` says
    for each side how to repeat runs with interference.
    """
    sides = _Side.of(base, again[0]), _Side.of(new, again[1])
    rows = [row for case in dict.fromkeys([*sides[0].cases, *sides[1].cases]) for row in _rows(case, *sides, metrics)]
    judged = iter(equivalence.evaluate([row.pair for row in rows if row.pair], margin))
    made = [_as_row(row, next(judged) if row.pair else None, *sides, carried) for row in rows]
    frame = pd.DataFrame(made)
    for name in carried:  # with nulls, pandas would convert integers to floats
        frame[name] = pd.Series([row[name] for row in made], dtype=object)
    frame = frame.astype({**dict.fromkeys(_WHOLE, "Int64"), **dict.fromkeys(_NUMBERS, float)})
    return Comparison(
        base["sweep"].iloc[0],
        new["sweep"].iloc[0],
        margin,
        _worst_first(frame, metrics),
        _differing(base, new, MACHINE),
        _differing(base, new, VERSIONS),
        _differing_settings(base, new),
        [*_changed_commands(*sides, carried), *_warnings("BASE", *sides), *_warnings("NEW", *reversed(sides))],
    )


def _worst_first(frame: pd.DataFrame, metrics: Collection[Quantity]) -> pd.DataFrame:
    more_is_better = frame["quantity"].isin([metric.column for metric in metrics if metric.more_is_better])
    ratios = frame["ratio"].astype(float)
    costs = ratios.mask(more_is_better, 1 / ratios)
    order = frame.assign(_place=frame["verdict"].map(WORST_FIRST.index), _gain=-costs)
    order = order.sort_values(["_place", "_gain"], kind="stable")
    return order.drop(columns=["_place", "_gain"]).reset_index(drop=True)


def _differing(base: pd.DataFrame, new: pd.DataFrame, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the columns in which the common cases of both sides differ, with the values of each side."""
    sides = _common(base, new)
    pairs = {name: (_distinct(sides[0][name]), _distinct(sides[1][name])) for name in names}
    return _unequal({name: pair for name, pair in pairs.items() if all(pair)})


def _common(base: pd.DataFrame, new: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the runs of the cases that are on both sides."""
    return base[base["case"].isin(new["case"])], new[new["case"].isin(base["case"])]


def _unequal(pairs: dict[str, tuple[list[str], list[str]]]) -> dict[str, tuple[str, str]]:
    return {name: ("; ".join(old), "; ".join(now)) for name, (old, now) in pairs.items() if old != now}


def _differing_settings(base: pd.DataFrame, new: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Return effective threads and environment variables of common cases that differ, with the values of each side."""
    sides = [
        [json.loads(text) for text in side["performance_variables"].dropna().unique()] for side in _common(base, new)
    ]
    names = sorted({name for side in sides for variables in side for name in variables})
    old, now = ({name: sorted({each.get(name, _UNSET) for each in side}) for name in names} for side in sides)
    return {
        **_differing(base, new, THREADS),
        **_unequal({name: (old[name], now[name]) for name in names if all(sides)}),
    }


def _distinct(column: pd.Series[Any]) -> list[str]:
    return sorted(map(str, column.dropna().unique()))


def _changed_commands(base: _Side, new: _Side, parameters: Sequence[str]) -> list[str]:
    """Return a warning if cases have no counterpart only because their commands differ."""
    names = [name for name in parameters if name not in ("command", "experiment")]

    def unmatched(side: _Side, other: _Side) -> dict[tuple[str, ...], list[Any]]:
        commands: dict[tuple[str, ...], list[Any]] = {}
        for case in (case for key, case in side.cases.items() if key not in other.cases):
            commands.setdefault(tuple(_text(case.get(name)) for name in names), []).append(case.get("command"))
        return commands

    old, now = unmatched(base, new), unmatched(new, base)
    pairs = [(old[key][0], now[key][0]) for key in old if len(old[key]) == len(now.get(key, ())) == 1]
    changed = [(was, becomes) for was, becomes in pairs if not _equal(was, becomes)]
    if not changed:
        return []
    was, becomes = changed[0]
    example = f"{was} in BASE and {becomes} in NEW"
    if len(changed) == 1:
        return [f"1 case is not compared, because its command differs: {example}"]
    return [f"{len(changed):,} cases are not compared, because their commands differ, for example {example}"]


def _text(value: Any) -> str:
    return "" if pd.isna(value) is True else str(value)


def _warnings(name: str, side: _Side, other: _Side) -> list[str]:
    """Return the warnings about the cases of a side that are also on the other side."""
    cases = [case for key, case in side.cases.items() if key in other.cases]
    warnings = Counter(case["warnings"] for case in cases if not pd.isna(case["warnings"]))
    for case in cases:
        if case["status"] != COMPLETED and case["runs"] > 0:
            warnings["some runs did not complete; the others are compared"] += 1
        if not pd.isna(case[NOT_FOUND[0]]):
            warnings[f"metric not found in some runs: {case[NOT_FOUND[0]]}"] += 1
        if case["interference_runs"] and case["interference"] != INTERFERENCE:
            warnings["some runs had interference; the others are compared"] += 1
        if case["unmonitored"]:
            warnings["interference is unknown for some runs; they are compared"] += 1
    return [f"{name}: {warning}" + (f" ({count} cases)" if count > 1 else "") for warning, count in warnings.items()]


def _measured(row: Row) -> Iterator[tuple[str, float]]:
    """Yield column and value of each quantity of a repetition: the median time in seconds, and the metrics."""
    yield TIME.column, median_of(row[SAMPLES])
    for name, value in row.items():
        if name.startswith(PREFIX) and not pd.isna(value):
            yield name, float(value)


def _rows(case: str, base: _Side, new: _Side, metrics: Collection[Quantity]) -> Iterator[_Row]:
    """Yield a row per quantity of a case, or a single row if the whole case cannot be compared."""
    refused = _refused(case, base, new)
    if refused:
        yield _Row(case, TIME.column, None, *refused)
        return
    for quantity in (TIME, *metrics):
        old, now = base.values.get((case, quantity.column)), new.values.get((case, quantity.column))
        if old is not None and now is not None:
            yield _row(case, quantity, old, now)
        elif old is not None:
            yield _Row(case, quantity.column, None, MISSING, "not measured in NEW")
        elif now is not None:
            yield _Row(case, quantity.column, None, NOT_COMPARED, "not measured in BASE")


def _row(case: str, quantity: Quantity, old: Floats, now: Floats) -> _Row:
    if quantity.more_is_better is None:
        reason = "the better direction is unknown: set `better` for the metric in the experiment"
        return _Row(case, quantity.column, None, NOT_COMPARED, reason)
    if min(old.min(), now.min()) <= 0:
        return _Row(case, quantity.column, None, NOT_COMPARED, "no ratio (a value is 0 or less)")
    return _Row(case, quantity.column, Pair(old, now, quantity.more_is_better))


def _refused(key: str, old: _Side, now: _Side) -> tuple[str, str] | None:
    """Return verdict and reason if a case is missing, unmeasured or noisy in a sweep, or its workload differs."""
    base, new = old.cases.get(key), now.cases.get(key)
    if new is None or base is None:
        return (NOT_COMPARED, "only in NEW") if base is None else (MISSING, "only in BASE")
    if pd.isna(base[TIME.column]):
        both = " nor in NEW" if pd.isna(new[TIME.column]) else ""
        return NOT_COMPARED, f"not measured in BASE{both} ({_ending(base)})"
    if pd.isna(new[TIME.column]):
        return MISSING, f"not measured in NEW ({_ending(new)})"
    if pd.isna(base[PROBED]) != pd.isna(new[PROBED]):
        steps, whole = ("NEW", "BASE") if pd.isna(base[PROBED]) else ("BASE", "NEW")
        return NOT_COMPARED, f"{steps} has step times (hpcbench_probe), but {whole} has only wall times"
    noisy = [each for each in (("BASE", base, old), ("NEW", new, now)) if each[1]["interference"] == INTERFERENCE]
    if noisy:
        causes = ", ".join(dict.fromkeys(", ".join(case["interference_causes"] for _, case, _ in noisy).split(", ")))
        cause = f"interference in every run of {' and of '.join(name for name, _, _ in noisy)} ({causes})"
        return NOT_COMPARED, "; ".join([cause, *(side.again for _, _, side in noisy if side.again)])
    other = [f"{name} {base[name]} in BASE, {new[name]} in NEW" for name in WORK if not _equal(base[name], new[name])]
    return (NOT_COMPARED, f"different workload: {'; '.join(other)}") if other else None


def _ending(case: Row) -> str:
    return case["status"] if pd.isna(case["error"]) else f"{case['status']}: {case['error']}"


def _equal(one: Any, other: Any) -> bool:
    return bool(pd.isna(one) and pd.isna(other)) or bool(not pd.isna(one) and not pd.isna(other) and one == other)


def _as_row(row: _Row, verdict: Verdict | None, base: _Side, new: _Side, carried: Sequence[str]) -> Row:
    known: Row = new.cases.get(row.case) or base.cases[row.case]
    made: Row = {"case": row.case, **{name: known.get(name) for name in carried}, **dict.fromkeys(_COLUMNS)}
    made["quantity"] = row.quantity
    made |= _judged(row, verdict) if verdict else {"verdict": row.word, "reason": row.reason}
    for name, side in (("base", base), ("new", new)):
        values = side.values.get((row.case, row.quantity))
        made[f"{name}_status"] = side.cases[row.case]["status"] if row.case in side.cases else None
        made[f"{name}_runs"] = 0 if values is None else values.size
        made[f"{name}_median"] = None if values is None else median_of(values)
    return made


def _judged(row: _Row, verdict: Verdict) -> Row:
    return {
        "verdict": verdict.word if row.quantity == TIME.column else _OF_A_METRIC.get(verdict.word, verdict.word),
        "ratio": verdict.ratio.estimate,
        "ratio_ci_low": verdict.ratio.low,
        "ratio_ci_high": verdict.ratio.high,
        "p_value": verdict.p_value,
        "rank_sum_p": verdict.rank_sum_p,
        "runs_needed": verdict.runs_needed,
        "reason": verdict.reason,
    }
