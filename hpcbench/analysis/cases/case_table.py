"""The table of cases, made from the table of repetitions: times with intervals, throughput and rank."""

from __future__ import annotations

from collections.abc import Collection
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.latency import AVERAGED_OVER, PERCENTILES, latency
from hpcbench.analysis.cases.quantities import THROUGHPUT, TIME, Quantity
from hpcbench.analysis.cases.valid_samples import with_times_only
from hpcbench.analysis.stats.intervals import effective_size_of, interval_of_values, median_interval
from hpcbench.config.metrics import PREFIX, interval_columns
from hpcbench.core.frameworks import TIME_TO_ACCURACY
from hpcbench.core.run_spec import COMMAND
from hpcbench.core.samples import CLEAN, DISTURBED, SAMPLES, UNMONITORED
from hpcbench.core.status import COMPLETED

# Cases may be compared only where all of these agree: equal work or no comparison.
WORK = ("model", "task", "parameter_count", "flops_per_item", "dtype", "math_mode", "data", "target_accuracy")

EFFECTIVE = "effective_samples"  # what the samples are worth: of a case, and of each row of by_case

_KEYS = ["sweep", "case"]
_FRONT = ["sweep", "case", "status"]
_COUNTS = ["repetitions", "disturbed", "unmonitored", "attempts"]
_OF_TIMES = [
    "samples",
    EFFECTIVE,
    "time_median_s",
    "time_ci_low_s",
    "time_ci_high_s",
    "time_mean_s",
    "time_std_s",
    *PERCENTILES,
    AVERAGED_OVER,
    "throughput_items_per_s",
    "throughput_items_per_s_ci_low",
    "throughput_items_per_s_ci_high",
    "speedup",
    "speedup_ci_low",
    "speedup_ci_high",
    "speedup_base",
]
_MEASURED = [*_COUNTS, *_OF_TIMES]
_LARGEST = ("peak_memory_bytes", "peak_device_bytes")
_PER_REPETITION = (
    "repetition",
    "attempt",
    "steps_per_sample",
    "warmup_steps",
    "steady",
    "drift",
    "stopped",
    "started_at",
    "ended_at",
    SAMPLES,
)
_JOINED = ("nodes_used", "job_id", "framework_version")  # what any of the repetitions had
# The same, of what holds commas.
_SENTENCES = (
    *("cpu_model", "cpu_governor", "cpu_turbo", "gpu_model", "kernel", "software", "warnings"),
    *("energy_scope", "energy_reason", "price_reason"),
)
# The median of the repetitions.
_TYPICAL = (
    *("first_step_s", "compile_s", "import_s", "build_s", "threads_search_s"),
    *("epochs", "accuracy", "price_per_hour"),
)
_ENERGY = "energy_"  # before the names of such columns, which are medians, too


Row = dict[Any, Any]
Cases = dict[tuple[str, str], list[Row]]


def case_table(repetitions: pd.DataFrame, grouped: Cases | None = None) -> pd.DataFrame:
    """Return one row per case, in the order of sweeps and cases. speedup.py fills `speedup`.

    `grouped` is the result of by_case, if it is known.
    """
    names = [str(name) for name in repetitions]
    medians = [name for name in names if name in _TYPICAL or _is_energy(name)]
    found = [name for name in names if name.startswith(PREFIX)]
    groups = by_case(repetitions) if grouped is None else grouped
    frame = pd.DataFrame([_case(rows, medians, found) for rows in groups.values()])
    sweeps = {name: place for place, name in enumerate(dict.fromkeys(frame["sweep"]))}
    frame = frame.sort_values(
        ["sweep", "case_index"], key=lambda column: column.map(sweeps) if column.name == "sweep" else column
    ).reset_index(drop=True)
    for name in frame.columns.intersection(repetitions.columns):
        if repetitions[name].dtype == "Int64" and name not in _TYPICAL:
            frame[name] = frame[name].astype("Int64")
    metrics = [name for column in found for name in (column, *interval_columns(column))]
    placed = {*_FRONT, *_MEASURED, *metrics, "error", "case_index"}
    rest = [name for name in frame.columns if name not in placed]
    parameters = rest[: rest.index("first_step_s")]
    return frame[[*_FRONT, *parameters, *_MEASURED, *metrics, *rest[len(parameters) :], "error", "case_index"]]


def by_case(repetitions: pd.DataFrame) -> Cases:
    """Return the rows of each case by sweep and id, with their effective samples. Many small frames would be much
    slower."""
    groups: Cases = {}
    names = list(repetitions)
    columns = [repetitions[name].tolist() for name in names]  # to_dict("records") looks at each value, and takes longer
    for values in zip(*columns, strict=True):
        row = with_times_only(dict(zip(names, values, strict=True)))
        row[EFFECTIVE] = effective_size_of(row[SAMPLES])
        groups.setdefault((row["sweep"], row["case"]), []).append(row)
    return groups


def valid_rows(rows: list[Row]) -> list[Row]:
    """Return the valid repetitions of a case: the completed ones without interference, otherwise all completed ones."""
    completed = [row for row in rows if row["status"] == COMPLETED]
    return [row for row in completed if row["interference"] != DISTURBED] or completed


def valid_repetitions(repetitions: pd.DataFrame) -> pd.DataFrame:
    """Return the valid repetitions of all cases of a table, as valid_rows does for one case."""
    completed = repetitions[repetitions["status"] == COMPLETED]
    disturbed = completed["interference"].eq(DISTURBED)
    alone = disturbed.groupby([completed[key] for key in _KEYS]).transform("all")
    return completed[~disturbed | alone]


def _is_energy(column: str) -> bool:
    return column.startswith(_ENERGY) and column not in _SENTENCES


def _case(rows: list[Row], medians: list[str], metrics: list[str]) -> Row:
    """Return the row of a case. It has completed if all repetitions have; its times are those of the valid ones.

    The columns in `medians` are medians over the repetitions, those in `metrics` have an interval, too.
    """
    completed = [row for row in rows if row["status"] == COMPLETED]
    used = valid_rows(rows)
    failed = [row for row in rows if row["status"] != COMPLETED]
    case = dict((used or rows)[0])
    for name in _PER_REPETITION:
        case.pop(name, None)
    for name in _LARGEST:
        case[name] = max(_present(rows, name), default=None)
    for name in medians:
        values = _present(used, name)
        case[name] = median(values) if values else None
    for name in _JOINED:
        case[name] = ",".join(dict.fromkeys(",".join(_present(rows, name)).split(","))) or None
    for name in _SENTENCES:
        case[name] = "; ".join(dict.fromkeys(_present(rows, name))) or None
    case["status"] = failed[0]["status"] if failed else COMPLETED
    case["error"] = failed[0]["error"] if failed else None
    case["log"] = failed[0]["log"] if failed else None
    for name in metrics:
        case.update(_metric(name, _present(used, name)))
    verdicts = {row["interference"] for row in used}  # all disturbed, or none
    case["interference"] = next((each for each in (DISTURBED, UNMONITORED, CLEAN) if each in verdicts), None)
    case["disturbed"] = sum(row["interference"] == DISTURBED for row in completed)
    case["unmonitored"] = sum(row["interference"] == UNMONITORED for row in completed)
    case["attempts"] = sum(_present(rows, "attempts"))
    case["disturbed_by"] = ", ".join(dict.fromkeys(", ".join(_present(rows, "disturbed_by")).split(", "))) or None
    return {**case, **_times(used), **latency(used)}


def _present(rows: list[Row], name: str) -> list[Any]:
    return [row[name] for row in rows if _is_there(row[name])]


def _is_there(value: Any) -> bool:
    """Return what pandas.notna returns for a single value, ten times as fast, which matters for 10,000 cases."""
    return value is not None and value is not pd.NA and bool(value == value)


def _metric(column: str, values: list[Any]) -> Row:
    """Return the median over repetitions with one value each, and its interval."""
    low, high = interval_columns(column)
    if not values:
        return {column: None, low: None, high: None}
    interval = interval_of_values(values)
    return {column: interval.estimate, low: interval.low, high: interval.high}


def _times(rows: list[Row]) -> Row:
    measured: Row = dict.fromkeys(_OF_TIMES)
    measured["repetitions"] = len(rows)
    measured["samples"] = sum(len(row[SAMPLES]) for row in rows)
    measured[EFFECTIVE] = sum(row[EFFECTIVE] for row in rows)
    if not measured["samples"]:
        return measured
    repetitions, items_per_step = [row[SAMPLES] for row in rows], rows[0]["items_per_step"]
    pooled = np.concatenate(repetitions)
    time = median_interval(repetitions, [row[EFFECTIVE] for row in rows])
    measured.update(
        time_median_s=time.estimate,
        time_ci_low_s=time.low,
        time_ci_high_s=time.high,
        time_mean_s=float(pooled.mean()),
        time_std_s=float(pooled.std(ddof=1)) if pooled.size > 1 else None,
    )
    if time.estimate > 0 and not pd.isna(items_per_step):
        rate = time.rate(float(items_per_step))
        measured.update(
            throughput_items_per_s=rate.estimate,
            throughput_items_per_s_ci_low=rate.low,
            throughput_items_per_s_ci_high=rate.high,
        )
    return measured


def work_groups(cases: pd.DataFrame) -> pd.Series[int]:
    """Return a number per case, equal for the same workload; -1 for cases that were not measured."""
    measured = cases["time_median_s"].notna()
    work = _work(cases)[measured]
    # Codes of values instead of a groupby: reports ask several times for few cases.
    codes = zip(*(pd.factorize(work[name])[0] for name in work), strict=True)
    known: dict[tuple[int, ...], int] = {}
    numbers = [known.setdefault(each, len(known)) for each in codes]
    return pd.Series(numbers, work.index, "int64").reindex(cases.index, fill_value=-1)


def _work(cases: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that define the workload. The commands of one experiment count as one workload."""
    commands = cases["framework"] == COMMAND
    work = cases[list(WORK)]
    work = work.mask(commands) if commands.any() else work
    learning = cases["task"] == TIME_TO_ACCURACY
    return work.assign(held_out=cases["held_out"].where(learning), experiment=cases["experiment"].where(commands))


def differing_work(cases: pd.DataFrame) -> list[str]:
    """Return the columns in which the workloads of the measured cases differ."""
    work = _work(cases)[cases["time_median_s"].notna()]
    return [str(name) for name in work if work[name].nunique(dropna=False) > 1]


def case_names(cases: pd.DataFrame) -> pd.Series[str]:
    """Return a name per case that is unique also among several sweeps."""
    return cases["sweep"] + "/" + cases["case"]


def speed_of(cases: pd.DataFrame) -> pd.Series[float]:
    """Return items per second, or the inverse of the time if samples have no items; missing if the time is 0."""
    times = cases["time_median_s"].astype(float).replace(0, np.nan)
    return cases["throughput_items_per_s"].astype(float).fillna(1 / times)


def ranked_by(cases: pd.DataFrame, quantity: Quantity, metrics: Collection[Quantity]) -> Quantity:
    """Return the quantity that ranks cases of one workload.

    This is `quantity`, unless it is the throughput and no case has one: then it is the first metric that a case has, or
    the time.
    """
    if quantity != THROUGHPUT or cases[THROUGHPUT.column].notna().any():
        return quantity
    return next(
        (each for each in metrics if each.more_is_better is not None and cases[each.column].notna().any()), TIME
    )


def ranked(cases: pd.DataFrame, quantity: Quantity, metrics: Collection[Quantity] = ()) -> pd.DataFrame:
    """Return the cases by workload, best first by the quantity of ranked_by. Cases that were not measured come last."""
    groups = work_groups(cases)
    key = (speed_of(cases) if quantity == THROUGHPUT else cases[quantity.column]).copy()
    for _, rows in cases[cases["framework"] == COMMAND].groupby(groups[groups >= 0]) if metrics else ():
        own = ranked_by(rows, quantity, metrics)
        if own in metrics and own != quantity:
            key[rows.index] = rows[own.column].astype(float) * (1 if own.more_is_better else -1)
    order = cases.assign(_group=groups.replace(-1, np.iinfo(np.int64).max), _key=key)
    ascending = [True, not quantity.more_is_better]
    order = order.sort_values(["_group", "_key"], ascending=ascending, kind="stable", na_position="last")
    return order.drop(columns=["_group", "_key"]).reset_index(drop=True)
