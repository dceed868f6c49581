"""Latency: percentiles of the step time, available only if each measurement is the time of a single step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.valid_samples import only_times
from hpcbench.analysis.stats.intervals import median_of, percentiles
from hpcbench.analysis.stats.quantiles import PERCENTILES
from hpcbench.core.frameworks import FORWARD_TASKS, OPERATOR, SHARDED, STEP_TASKS
from hpcbench.core.samples import SAMPLES

AVERAGED_OVER = "measurements_averaged_over"  # column with the reason for missing percentiles
STEPS, TASKS, INSTANCES = "steps", "tasks", "instances"

Row = dict[Any, Any]


def latency(repetitions: list[Row]) -> Row:
    """Return by column the percentiles, in seconds, of the pooled measurements of the runs; None if they are unknown.

    They are unknown with too few measurements (minimum_samples), and if measurements are means: percentiles of a step
    cannot be derived from means of k steps (Hoefler and Belli, 2015, "Scientific benchmarking of parallel computing
    systems", section 4.2.1). The column AVERAGED_OVER is then STEPS, TASKS or INSTANCES.
    """
    averaged = next(filter(None, map(_averaged_over, repetitions)), None)
    if averaged or not repetitions:
        return {**dict.fromkeys(PERCENTILES), AVERAGED_OVER: averaged}
    pooled = np.concatenate([row[SAMPLES] for row in repetitions])
    found = zip(PERCENTILES, percentiles(pooled, PERCENTILES.values()), strict=True)
    return {**dict(found), AVERAGED_OVER: None}


def larger_steps(cases: pd.DataFrame) -> str:
    """Return what to increase so that steps are long enough to be timed, for those cases whose steps are not.

    The columns are AVERAGED_OVER and `task`.
    """
    are_operators = cases.loc[cases[AVERAGED_OVER] == STEPS, "task"] == OPERATOR
    if not are_operators.any():
        return "batch_size"
    return "the sizes of the operators" if are_operators.all() else "batch_size, or the sizes of operators,"


def _averaged_over(repetition: Row) -> str | None:
    """Return STEPS, INSTANCES or TASKS if measurements are means over these; None for times of one step or command."""
    if repetition["steps_per_measurement"] > 1:
        return STEPS
    if repetition["instances"] > 1:
        return INSTANCES if repetition["task"] in STEP_TASKS else None
    tasks = repetition["nodes"] * repetition["tasks_per_node"]
    alone = repetition["task"] in FORWARD_TASKS and repetition["strategy"] not in SHARDED
    return TASKS if tasks > 1 and alone else None


def _of_one(repetition: Row) -> Row:
    times = repetition[SAMPLES]
    known = {"measurements": times.size, "time_median_s": median_of(times) if times.size else None}
    return {**known, **latency([repetition] if times.size else [])}


def with_latency(repetitions: pd.DataFrame) -> pd.DataFrame:
    """Return the table of runs with the number of measurements of each, and their median and percentiles in s."""
    found = pd.DataFrame([_of_one(row) for row in only_times(repetitions).to_dict("records")])
    place = list(repetitions.columns).index("steps_per_measurement")
    before, after = repetitions.iloc[:, :place], repetitions.iloc[:, place:]
    return pd.concat([before, found.set_index(repetitions.index), after], axis=1)
