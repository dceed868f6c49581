"""The runs of sweeps, from their records, as the tables of networks and operators."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hpcbench.core.frameworks import OPERATOR
from hpcbench.core.samples import INTERFERENCE
from hpcbench.core.status import COMPLETED
from hpcbench.models.operators.catalog import OPERATORS, operator_of
from hpcbench.predict.measured.operator_cases import works_of
from hpcbench.predict.measured.profiles import INTERFERENCE as CONTAMINATED
from hpcbench.predict.measured.profiles import THROTTLED, named
from hpcbench.predict.measured.values import numbers, texts
from hpcbench.predict.tables import networks
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.element_bytes import element_bytes
from hpcbench.predict.tables.prediction import Floats

NOT_COMPLETED, SEVERAL = "not completed", "several processes, or a communication"
OTHER_TASK, UNKNOWN = "another task than inference, training or an operator", "an operator that is not one kernel"
_TASKS = (networks.INFERENCE, networks.TRAINING)
_TRAINING_PASSES = 3  # passes whose FLOPs a record of training counts for each item
_NUMBERS_OF_PROCESSES = ("nodes", "tasks_per_node", "instances")


class Recorded(NamedTuple):
    """Tables of the runs of sweeps, and how many runs were left out, by reason."""

    operators: pd.DataFrame
    networks: pd.DataFrame
    left_out: Mapping[str, int]


def recorded(repetitions: pd.DataFrame, file: str = "", listed: Collection[str] = ()) -> Recorded:
    """Return the tables of runs, which have the columns of `collect.table.repetition_table`.

    Throttled runs, runs with interference or in several processes, and those that are neither a network nor one
    operator are left out.
    `listed` has the IDs of the cases whose operators are known; the others have no `list_id`.
    """
    runs = repetitions.reset_index(drop=True).assign(row=np.arange(len(repetitions)))
    runs = runs.assign(time_s=_medians(runs))
    reasons = _reasons(runs)
    kept = runs[reasons == ""]
    is_operator = kept["task"] == OPERATOR
    operators, unknown = _operators(kept[is_operator], file)
    left_out = {str(reason): int(count) for reason, count in reasons[reasons != ""].value_counts().items()}
    more = {UNKNOWN: unknown} if unknown else {}
    return Recorded(operators, _networks(kept[~is_operator], file, frozenset(listed)), {**left_out, **more})


def _medians(runs: pd.DataFrame) -> Floats:
    """Return the median time of a step of each run in seconds; NaN without measurements."""
    times = [np.asarray(each, dtype="float64") for each in runs["times_s"]]
    return np.array([float(np.nanmedian(each)) if np.isfinite(each).any() else np.nan for each in times])


def _reasons(runs: pd.DataFrame) -> pd.Series:
    reasons = pd.Series("", index=runs.index, dtype="object")
    reasons[~runs["task"].isin((*_TASKS, OPERATOR))] = OTHER_TASK
    is_one = (texts(runs, "strategy") == "single") | (runs["task"] == OPERATOR)
    for name in _NUMBERS_OF_PROCESSES:
        is_one &= ~(numbers(runs, name) > 1)
    reasons[~is_one] = SEVERAL
    reasons[runs["interference"] == INTERFERENCE] = CONTAMINATED
    reasons[runs["throttled"].astype("bool")] = THROTTLED
    reasons[(runs["status"] != COMPLETED) | runs["time_s"].isna()] = NOT_COMPLETED
    return reasons


def _conditions(runs: pd.DataFrame) -> pd.DataFrame:
    """Return where the runs were measured, and their energy per step: of the GPU, or of the CPUs without one."""
    on_gpu = texts(runs, "device") == "gpu"
    steps = numbers(runs, "items_per_step")
    per_item = np.where(on_gpu, numbers(runs, "energy_gpu_j_per_item"), numbers(runs, "energy_cpu_j_per_item"))
    energy = per_item * steps
    found = {
        "device": texts(runs, "gpu_model").where(on_gpu, texts(runs, "cpu_model")),
        "library": (texts(runs, "framework") + " " + texts(runs, "framework_version")).str.strip(),
        "threads": np.where(on_gpu, np.nan, numbers(runs, "effective_intra_op_threads")),
        "time_s": runs["time_s"],
        "power_w": energy / runs["time_s"].to_numpy(),
        "energy_j": energy,
    }
    return pd.DataFrame(found, index=runs.index)


def _networks(runs: pd.DataFrame, file: str, listed: frozenset[str]) -> pd.DataFrame:
    is_training = runs["task"] == networks.TRAINING
    passes = np.where(is_training, _TRAINING_PASSES, 1)
    shapes = [_sizes(text) for text in texts(runs, "input_shapes")]
    case = texts(runs, "case")
    found = pd.DataFrame(
        {
            "file": file,
            "row": runs["row"],
            "network": named(runs),
            "phase": texts(runs, "task"),
            "dtype": texts(runs, "dtype"),
            "execution": texts(runs, "execution"),
            "optimizer": texts(runs, "optimizer").where(is_training, ""),
            "list_id": case.where(case.isin(listed), ""),
            "batch_size": numbers(runs, "batch_size"),
            "image_size": [sizes.get("image_size") for sizes in shapes],
            "sequence_length": [sizes.get("sequence_length") for sizes in shapes],
            "mparams": numbers(runs, "parameter_count") / 1e6,
            "gmacs": numbers(runs, "flops_per_item") / passes / 2 / 1e9,
            "unit": networks.STEP,
        },
        index=runs.index,
    )
    return networks.complete(pd.concat([found, _conditions(runs)], axis=1)).reset_index(drop=True)


def _sizes(text: str) -> dict[str, int]:
    """Return the image size or the sequence length of the first input, from the shapes of inputs as JSON."""
    try:
        shape = next(iter(json.loads(text).values()))
    except (ValueError, AttributeError, StopIteration):
        return {}
    if len(shape) == 4:
        return {"image_size": int(shape[-1])}
    return {"sequence_length": int(shape[1])} if len(shape) == 2 else {}


def _operators(runs: pd.DataFrame, file: str) -> tuple[pd.DataFrame, int]:
    """Return the rows of operators, and how many runs are of an operator that is not one kernel."""
    found: list[dict[str, Any]] = []
    unknown = 0
    for run, at in zip(runs.to_dict("records"), _conditions(runs).to_dict("records"), strict=True):
        works = _works(run)
        unknown += not works
        for work in works:
            share = work.pop("share")
            where = {str(name): value for name, value in at.items()}
            shared = {name: where[name] * share for name in ("time_s", "energy_j")}
            fixed = {"file": file, "row": run["row"], "dtype": run["dtype"], "timing": table.CALL}
            found.append({**fixed, **work, **where, **shared})
    return table.complete(pd.DataFrame(found, columns=list(table.COLUMNS))), unknown


def _works(run: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """Return what the operator of a run computes; nothing if it is not one kernel, or not known."""
    if run["operator"] not in OPERATORS:
        return []
    try:
        operator = operator_of(run["operator"], json.loads(run["sizes"] or "{}"))
    except ValueError:  # of another version of hpcbench
        return []
    return works_of(operator, run["phase"], element_bytes(run["dtype"]))
