"""The parts of a training step, by the differences between otherwise equal cases of three tasks.

The task backward lacks the update of the weights, so the update is the rest of a training step. The task inference is
not the forward pass of training, which also saves activations and normalizes by the statistics of its batch; 16 bits
are autocast in training. So backward - inference is the cost of gradients in addition to a prediction.

The difference of the peaks of device memory includes the gradients of the weights, unlike `saved_activation_bytes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from hpcbench.analysis.cases.bootstrap_replicates import interval_of, shuffled
from hpcbench.analysis.cases.quantities import TIME, Quantity
from hpcbench.analysis.results import Results
from hpcbench.analysis.stats.intervals import Interval
from hpcbench.core.frameworks import BACKWARD, INFERENCE, TRAINING

TASKS = (INFERENCE, BACKWARD, TRAINING)
# Times in s of the columns, each by the tasks of which it is the time or the difference.
PARTS = {
    Quantity("inference_s", "inference", "s"): (INFERENCE,),
    Quantity("backward_s", "backward", "s"): (BACKWARD,),
    Quantity("training_s", "training", "s"): (TRAINING,),
    Quantity("backward_minus_inference_s", "backward - inference", "s"): (BACKWARD, INFERENCE),
    Quantity("update_s", "update (training - backward)", "s"): (TRAINING, BACKWARD),
}
# Memory of a task in bytes, without intervals: it does not vary between runs.
MEMORY = (
    Quantity("saved_activation_bytes", "saved activations", "B"),
    Quantity("device_memory_difference_bytes", "device memory, backward - inference", "B"),
)


def step_parts(results: Results, identifying: Sequence[str]) -> pd.DataFrame:
    """Return PARTS, with 95 % CIs, and MEMORY of each training step with a measured case of backward and another task.

    The cases of a step agree in the `identifying` columns other than the task. A row has these columns, `sweep`, the
    ids of the cases by task, and the times for the items of one backward step.
    """
    cases = results.cases[results.cases["task"].isin(TASKS) & results.cases["time_median_s"].notna()]
    names = [name for name in ("sweep", *identifying) if name in cases and name != "task"]
    alike: dict[tuple[str, ...], list[Mapping[Any, Any]]] = {}
    for case in cases.to_dict("records"):
        alike.setdefault(tuple(str(case[name]) for name in names), []).append(case)
    rows = [_parts(results, {case["task"]: case for case in found}, names) for found in alike.values()]
    return pd.DataFrame([row for row in rows if row])


def _parts(results: Results, cases: Mapping[str, Mapping[Any, Any]], names: Sequence[str]) -> dict[str, Any]:
    """Return the row of otherwise equal cases by task; empty without backward and another task."""
    if BACKWARD not in cases or len(cases) == 1:
        return {}
    row = {name: cases[BACKWARD][name] for name in names}
    row |= {f"{task}_case": cases[task]["case"] if task in cases else None for task in TASKS}
    for part, tasks in PARTS.items():
        measured = all(task in cases for task in tasks)
        time = _time(results, [cases[task] for task in tasks], cases[BACKWARD]) if measured else (None, None, None)
        row |= dict(zip((part.column, *part.limits), time, strict=True))
    memory = (_bytes(cases, BACKWARD, "saved_activation_bytes"), _difference(cases))
    return row | {each.column: size for each, size in zip(MEMORY, memory, strict=True)}


def _difference(cases: Mapping[str, Mapping[Any, Any]]) -> int | None:
    """Return the peak device memory of backward minus that of inference."""
    more, less = (_bytes(cases, task, "peak_device_bytes") for task in (BACKWARD, INFERENCE))
    return None if more is None or less is None else more - less


def _bytes(cases: Mapping[str, Mapping[Any, Any]], task: str, column: str) -> int | None:
    size = cases[task][column] if task in cases else None
    return None if pd.isna(size) else int(size)


def _time(results: Results, cases: Sequence[Mapping[Any, Any]], backward: Mapping[Any, Any]) -> Interval:
    """Return the time of a case, or the difference of two, for the items of a backward step."""
    scales = [float(backward["items_per_step"]) / float(case["items_per_step"]) for case in cases]
    first, *others = (float(case["time_median_s"]) * scale for case, scale in zip(cases, scales, strict=True))
    if not others:
        limits = (None if pd.isna(cases[0][name]) else float(cases[0][name]) * scales[0] for name in TIME.limits)
        return Interval(first, *limits)
    above, below = (results.replicates.of((case["sweep"], case["case"])) for case in cases)
    if above is None or below is None:
        return Interval(first - others[0], None, None)
    return interval_of(first - others[0], scales[0] * above - scales[1] * shuffled(below, 1))
