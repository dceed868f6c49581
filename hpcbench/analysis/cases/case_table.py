"""The table of cases, made from the table of runs: times with CIs, throughput and rank."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.latency import AVERAGED_OVER, latency
from hpcbench.analysis.cases.quantities import ACCURACIES, MODELS, NOT_FOUND
from hpcbench.analysis.cases.user_workload import USER_WORKLOAD, user_workload
from hpcbench.analysis.cases.valid_samples import only_times
from hpcbench.analysis.stats.intervals import effective_size_of, interval_of_values, median_interval
from hpcbench.analysis.stats.quantiles import PERCENTILES
from hpcbench.config.metrics import PREFIX, interval_columns
from hpcbench.core.samples import CLEAN, INTERFERENCE, PROBED, SAMPLES, UNMONITORED
from hpcbench.core.status import COMPLETED

EFFECTIVE = "effective_measurements"  # independent measurements, of a case and of each row of by_case

_KEYS = ["sweep", "case"]
_FRONT = ["sweep", "case", "status"]
_COUNTS = ["runs", "interference_runs", "unmonitored", "attempts"]
_OF_TIMES = [
    "measurements",
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
    "tflops_per_device",
    "tflops_per_device_6n",
    "gb_per_s_per_device",
    "bus_gb_per_s",
    "speedup",
    "speedup_ci_low",
    "speedup_ci_high",
    "speedup_base",
]
_MEASURED = [*_COUNTS, *_OF_TIMES]
# Columns that are maxima over all runs.
_LARGEST = (
    *("peak_memory_bytes", "peak_device_bytes", "saved_activation_bytes", "resident_fraction"),
    *("error_l1", "error_l2", "error_max", "error_relative_l1"),
    *("error_relative_l2", "error_relative_max", "error_ulps", "error_bound_ratio", "gradient_check_error"),
    *("update_error", "update_bound_ratio"),
    *("repeat_difference", "repeated_items", "missing_items", "throttled"),
)
_PER_REPETITION = (
    "run",
    "attempt",
    "steps_per_measurement",
    "warmup_steps",
    "steady",
    "drift",
    "stopped",
    "started_at",
    "ended_at",
    SAMPLES,
)
_JOINED = ("nodes_used", "job_id", "framework_version")  # distinct values over all runs
# Columns joined in the same way, with "; " since their values contain commas.
_SENTENCES = (
    *("cpu_model", "cpu_governor", "cpu_turbo", "gpu_model", "kernel", "software"),
    *("performance_variables", "outside_variables", "warnings"),
    *("saved_activation_reason", "update_reason"),
    *("energy_scope", "energy_reason", "price_reason", "valid_flops_reason"),
)
# Columns that are medians over the valid runs.
_TYPICAL = (
    *("first_step_s", "compile_s", "import_s", "build_s", "threads_search_s"),
    *("epochs", "training_loss", "best_training_loss", "training_accuracy", "best_training_accuracy"),
    *("gpu_clock_mhz", "price_per_hour"),
    *("valid_flops", "valid_flops_per_w", "models_trained"),
    *("communication_bytes_per_step", "communication_ratio"),
)
_ENERGY = "energy_"  # prefix of the energy columns, which are also medians


Row = dict[Any, Any]
Cases = dict[tuple[str, str], list[Row]]


def case_table(
    repetitions: pd.DataFrame, grouped: Cases | None = None, same_workload: Collection[str] = ()
) -> pd.DataFrame:
    """Return one row per case, in the order of sweeps and cases.

    Speedups, TFLOP/s and GB/s are left empty for speedup.py and flop_rates.py.

    A case has completed if all its runs have. Its times are from the valid runs. `grouped` is the result
    of by_case, if already computed; `same_workload` are the user parameters that do not change the workload of
    commands.
    """
    groups = by_case(repetitions) if grouped is None else grouped
    cleaned = only_times(repetitions)
    case_of = cleaned.groupby(_KEYS, sort=False).ngroup()  # in the order of `groups`
    rows = cleaned.set_index(case_of)
    valid = _is_valid(cleaned).to_numpy()
    used = rows[valid]
    measured = pd.DataFrame([_measured(valid_rows(group)) for group in groups.values()])
    ordered = np.lexsort((~valid, case_of))  # by case, valid runs first
    first = ordered[np.unique(case_of.to_numpy()[ordered], return_index=True)[1]]
    frame = rows.iloc[first].drop(columns=list(_PER_REPETITION), errors="ignore")
    metrics = [str(name) for name in repetitions if str(name).startswith(PREFIX)]
    accuracies = [each.column for each in ACCURACIES if each.column in rows]
    found = {**_of_all(rows), **_medians(used), **_outcomes(rows, used), **_metrics(used, [*metrics, MODELS.column])}
    trained = rows[_is_trained(cleaned).to_numpy()]  # a limit of a CI may exceed 1
    found |= {name: column.clip(upper=1.0) for name, column in _metrics(trained, accuracies).items()}
    placed = {name: _placed(column, frame.index) for name, column in found.items()}
    placed |= {str(name): column for name, column in measured.items()}
    kept = frame.drop(columns=list(placed), errors="ignore")
    table = pd.concat([kept, pd.DataFrame(placed)], axis=1)[list(dict.fromkeys([*frame, *placed]))]
    return _ordered(table.assign(**{USER_WORKLOAD: user_workload(table, same_workload)}), [*metrics, *accuracies])


def _placed(column: pd.Series[Any], cases: pd.Index[Any]) -> pd.Series[Any]:
    """Return a column with a value for each case; None for missing text."""
    column = column.reindex(cases)
    return column if pd.api.types.is_numeric_dtype(column) else column.astype(object).where(column.notna(), None)


def _ordered(frame: pd.DataFrame, metrics: list[str]) -> pd.DataFrame:
    """Return the rows in the order of sweeps and cases, and the columns in the order of reports."""
    sweeps = {name: place for place, name in enumerate(dict.fromkeys(frame["sweep"]))}
    frame = frame.sort_values(
        ["sweep", "case_index"], key=lambda column: column.map(sweeps) if column.name == "sweep" else column
    ).reset_index(drop=True)
    shown = [name for column in metrics for name in (column, *interval_columns(column))]
    placed = {*_FRONT, *_MEASURED, *shown, "error", "case_index"}
    rest = [name for name in frame.columns if name not in placed]
    parameters = rest[: rest.index("first_step_s")]
    columns = [*_FRONT, *parameters, *_MEASURED, *shown, *rest[len(parameters) :], "error", "case_index"]
    return frame[columns].copy()  # consolidates the blocks: pandas warns of fragmented frames when columns are added


def _of_all(rows: pd.DataFrame) -> dict[str, pd.Series[Any]]:
    """Return by column the maxima, joined texts and sums over all runs of each case."""
    present = [name for name in _SENTENCES if name in rows]
    return {
        **{name: rows[name].groupby(level=0).max() for name in _LARGEST if name in rows},
        **{name: _joined(rows[name], ",") for name in _JOINED},
        **{name: _joined(rows[name], "; ") for name in present},
        "interference_causes": _joined(rows["interference_causes"], ", "),
        "attempts": rows["attempts"].groupby(level=0).sum(),
    }


def _joined(texts: pd.Series[Any], separator: str) -> pd.Series[Any]:
    """Return the distinct items of the texts of each case, joined; the index of `texts` is the case."""
    known = texts.dropna()
    found: dict[int, dict[str, None]] = {}
    for case, text in zip(known.index.tolist(), known.tolist(), strict=True):
        found.setdefault(case, {})[text] = None
    joined = {case: _parts(different, separator) for case, different in found.items()}
    return pd.Series(joined, dtype=known.dtype)


def _parts(texts: Collection[str], separator: str) -> str:
    """Return a single text unchanged, or the distinct items of several texts, joined."""
    whole = separator.join(texts)
    return whole if len(texts) == 1 else separator.join(dict.fromkeys(whole.split(separator)))


def _medians(used: pd.DataFrame) -> dict[str, pd.Series[Any]]:
    names = [str(name) for name in used if name in _TYPICAL or _is_energy(str(name))]
    numbers = used[names].astype("float64")
    medians = numbers if used.index.is_unique else numbers.groupby(level=0).median()
    return {name: _whole(medians[name]) if used[name].dtype == "Int64" else medians[name] for name in names}


def _whole(numbers: pd.Series[float]) -> pd.Series[Any]:
    """Return the numbers as nullable integers if all are whole."""
    return numbers.astype("Int64") if (numbers.dropna() % 1 == 0).all() else numbers


def _outcomes(rows: pd.DataFrame, used: pd.DataFrame) -> dict[str, pd.Series[Any]]:
    """Return the status of each case, with the error and the log of the first run that did not complete."""
    completed = rows["status"] == COMPLETED
    failed = rows[~completed]
    failed = failed[~failed.index.duplicated()]
    cases = rows.index.unique()
    verdicts = used["interference"].map({INTERFERENCE: 0, UNMONITORED: 1, CLEAN: 2})
    return {
        "status": failed["status"].reindex(cases).fillna(COMPLETED),
        "error": failed["error"],
        "log": failed["log"],
        **_not_found(used),
        "interference": verdicts.groupby(level=0).min().map({0: INTERFERENCE, 1: UNMONITORED, 2: CLEAN}),
        "interference_runs": (completed & (rows["interference"] == INTERFERENCE)).groupby(level=0).sum(),
        "unmonitored": (completed & (rows["interference"] == UNMONITORED)).groupby(level=0).sum(),
    }


def _not_found(used: pd.DataFrame) -> dict[str, pd.Series[Any]]:
    """Return the metrics that were not found, and the reasons, in the first run of each case that lacks any."""
    lacking = used[used[NOT_FOUND[0]].notna()]
    lacking = lacking[~lacking.index.duplicated()]
    return {name: lacking[name] for name in NOT_FOUND}


def _metrics(used: pd.DataFrame, metrics: list[str]) -> dict[str, pd.Series[Any]]:
    """Return the median over the given runs of each metric, and the limits of its 95 % CI, by column."""
    columns: dict[str, pd.Series[Any]] = {}
    for name in metrics:
        values = used[name].dropna().astype("float64").groupby(level=0)
        intervals = {case: interval_of_values(group.tolist()) for case, group in values}
        for place, column in enumerate((name, *interval_columns(name))):
            columns[column] = pd.Series({case: found[place] for case, found in intervals.items()}, dtype="float64")
    return columns


def by_case(repetitions: pd.DataFrame) -> Cases:
    """Return the rows of each case by sweep and id, with effective measurements; as dicts, since frames are slower."""
    groups: Cases = {}
    cleaned = only_times(repetitions)
    names = [*cleaned, EFFECTIVE]
    # to_dict("records") converts each value, which takes longer.
    columns = [*(cleaned[name].tolist() for name in cleaned), map(effective_size_of, cleaned[SAMPLES])]
    for values in zip(*columns, strict=True):
        row = dict(zip(names, values, strict=True))
        groups.setdefault((row["sweep"], row["case"]), []).append(row)
    return groups


def valid_rows(rows: list[Row]) -> list[Row]:
    """Return the valid runs of a case: the completed ones without interference, otherwise all completed ones.

    If hpcbench_probe recorded steps in some of a command's runs, only these: the times of others are wall times.
    """
    completed = [row for row in rows if row["status"] == COMPLETED]
    completed = [row for row in completed if pd.notna(row.get(PROBED))] or completed
    return [row for row in completed if row["interference"] != INTERFERENCE] or completed


def valid_repetitions(repetitions: pd.DataFrame) -> pd.DataFrame:
    """Return the valid runs (see valid_rows) of all cases of a table, with their valid measurements."""
    cleaned = only_times(repetitions)
    return cleaned[_is_valid(cleaned)]


def trained_repetitions(repetitions: pd.DataFrame) -> pd.DataFrame:
    """Return the valid runs (see valid_rows), and those that did not complete.

    The latter have an accuracy if they missed the target. Without them, the accuracy of a case would be too high.
    """
    return repetitions[_is_trained(repetitions)]


def _is_trained(repetitions: pd.DataFrame) -> pd.Series[bool]:
    return _is_valid(repetitions) | (repetitions["status"] != COMPLETED)


def _is_valid(repetitions: pd.DataFrame) -> pd.Series[bool]:
    cases = [repetitions[key] for key in _KEYS]
    completed = repetitions["status"] == COMPLETED
    if PROBED in repetitions and repetitions[PROBED].notna().any():
        probed = completed & repetitions[PROBED].notna()
        completed &= probed | ~probed.groupby(cases).transform("any")
    clean = completed & ~repetitions["interference"].eq(INTERFERENCE)
    return clean | completed & ~clean.groupby(cases).transform("any")


def _is_energy(column: str) -> bool:
    return column.startswith(_ENERGY) and column not in _SENTENCES


def _measured(rows: list[Row]) -> Row:
    """Return the columns of a case that summarize the times of its valid runs."""
    measured: Row = {**dict.fromkeys(_OF_TIMES), **latency(rows)}
    measured["runs"] = len(rows)
    measured["measurements"] = sum(len(row[SAMPLES]) for row in rows)
    measured[EFFECTIVE] = sum(row[EFFECTIVE] for row in rows)
    if not measured["measurements"]:
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


def case_names(cases: pd.DataFrame) -> pd.Series[str]:
    """Return a name per case, `SWEEP/CASE`, that is unique across sweeps."""
    return cases["sweep"] + "/" + cases["case"]
