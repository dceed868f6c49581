"""The workload of each case: cases with the same workload can be compared, others are ranked separately."""

from __future__ import annotations

from typing import Any

import pandas as pd

from hpcbench.analysis.cases.user_workload import USER_WORKLOAD
from hpcbench.core.frameworks import TIME_TO_ACCURACY, trains_steps
from hpcbench.core.run_spec import COMMAND
from hpcbench.core.samples import PROBED

# Cases have the same workload, and can be compared, only if all of these columns agree.
WORK = (
    *("model", "model_options", "input", "loss_function", "step", "task", "operator", "phase", "sizes"),
    *("parameter_count", "flops_per_item"),
    *("graph_fingerprint", "dtype", "math_mode", "optimizer", "data", "target_accuracy"),
)
_INTERNAL = (USER_WORKLOAD, "times_steps")  # which are not columns of tables


def work_groups(cases: pd.DataFrame) -> pd.Series[int]:
    """Return a number per case, equal for the same workload; -1 for cases that were not measured."""
    # Lists are faster than a groupby for few cases, and reports call this several times.
    columns = ([None if pd.isna(value) else value for value in column] for column in _work(cases).values())
    known: dict[tuple[Any, ...], int] = {}
    works = zip(cases["time_median_s"].notna().tolist(), zip(*columns, strict=True), strict=True)
    numbers = [known.setdefault(work, len(known)) if measured else -1 for measured, work in works]
    return pd.Series(numbers, cases.index, "int64")


def _work(cases: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the columns that define the workload, with None for cases whose workload they do not define."""
    found = {
        name: [value if counts else None for value, counts in zip(cases[name].tolist(), where, strict=True)]
        for name, where in _defining(cases).items()
    }
    return {**found, "times_steps": _times_steps(cases)}


def _defining(cases: pd.DataFrame) -> dict[str, list[bool]]:
    """Return the columns that define workloads, and for which cases: commands have others (user_workload.py)."""
    commands = [name == COMMAND for name in cases["framework"]]
    models = [not is_command for is_command in commands]
    tasks = cases["task"].tolist()
    return {
        **dict.fromkeys(WORK, models),
        "optimizer": [trains_steps(task) for task in tasks],  # otherwise unused, or compared like a strategy
        "held_out": [task == TIME_TO_ACCURACY for task in tasks],
        "models": [task == TIME_TO_ACCURACY for task in tasks],
        "experiment": commands,
        USER_WORKLOAD: commands,
    }


def _times_steps(cases: pd.DataFrame) -> list[bool]:
    """Return whether the time of each case is that of steps, which hpcbench does not compare with wall times."""
    return [name != COMMAND or pd.notna(steps) for name, steps in zip(cases["framework"], cases[PROBED], strict=True)]


def differing_work(cases: pd.DataFrame) -> list[str]:
    """Return the columns in which the workloads of the measured cases differ."""
    measured = cases[cases["time_median_s"].notna()]
    work = _work(measured)
    work["optimizer"] = [value for value in work["optimizer"] if value is not None]  # of training alone
    values = {name: {None if pd.isna(value) else value for value in column} for name, column in work.items()}
    return [name for name, known in values.items() if name not in _INTERNAL and len(known) > 1]
