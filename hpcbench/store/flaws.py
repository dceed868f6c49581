"""Find the first invalid field of a record: missing, or of another type than the node writes.

Records are checked once, when they are read. Only fields that hpcbench uses are checked;
node/results/record_writer.py has all fields. Fields that later versions have added may be absent.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from hpcbench.core.run_spec import COMMAND, JOB_NAME


class _Absent:
    """Stands for a missing field."""


Fields = Mapping[str, tuple[type, ...]]  # allowed types by field

_ABSENT = _Absent()
_NULL = type(None)
_NUMBER = (int, float)
_RECORD: Fields = {
    **dict.fromkeys(("sweep", "experiment", "site", "hpcbench_version", "job", "batch", "case_id", "status"), (str,)),
    **dict.fromkeys(("started_at", "ended_at"), (str,)),
    **dict.fromkeys(("element", "case_index", "repetition"), (int,)),
    **dict.fromkeys(("parameters", "tags", "slurm", "environment"), (dict,)),
    **dict.fromkeys(("affinity", "nodes", "ranks", "warnings", "watched"), (list,)),
    **dict.fromkeys(("framework_version", "python", "executable"), (str, _NULL)),
    **dict.fromkeys(("attempt", "peak_memory_bytes", "peak_device_bytes"), (int, _NULL)),
    **dict.fromkeys(("import_s", "build_s"), (*_NUMBER, _NULL)),
    **dict.fromkeys(("error", "git", "interference", "learning", "metrics", "packages"), (dict, _NULL)),
    **dict.fromkeys(("samples", "threads", "work"), (dict, _NULL)),
    "physical_cores": (list, _Absent),
    "settings": (dict, _NULL, _Absent),
    "dynamic": (dict, _NULL, _Absent),
}
_PARTS: Mapping[str, Fields] = {  # of fields that may be null
    "parameters": {
        "framework": (str,),
        **dict.fromkeys(("nodes", "tasks_per_node", "cpus_per_task", "gpus_per_task"), (int,)),
        **dict.fromkeys(("model_options", "data"), (dict, _NULL)),
        "batch_size": (int, _NULL),
        "instances": (int, _Absent),
    },
    "samples": {
        **dict.fromkeys(("times_s", "windows"), (list,)),
        "steps_per_sample": (int,),
        "first_step_s": (*_NUMBER, _NULL),
    },
    "work": {
        **dict.fromkeys(("parameter_count", "flops_per_item"), (int,)),
        "items_per_step": (int, _NULL),
        "input_shape": (list,),
        **dict.fromkeys(("dtype", "math_mode"), (str, _Absent)),
    },
    "error": {"type": (str,), "message": (str,)},
    "interference": {"verdict": (str,), "found": (list,)},
}
_METRIC: Fields = {"value": (*_NUMBER, _NULL), "unit": (str,), "better": (str, _NULL)}
_EACH: Mapping[str, Fields] = {  # fields of the elements of lists
    "nodes": {"hostname": (str,), **dict.fromkeys(("cpu_model", "kernel", "governor"), (str, _NULL, _Absent))},
    "ranks": {"host": (str,), "ended_at": (str,), "gpus": (list, _NULL, _Absent)},
    "watched": {"host": (str,), "seconds": _NUMBER, "energy": (list,)},
}
_TIMES = {int, float, _NULL}
_WORDS = {_NULL: "null", str: "a text", bool: "true or false", list: "a list", dict: "an object"}


def flaw(record: Mapping[str, Any]) -> str | None:
    """Return the first error of a record, or None: `started_at is null` or `samples is missing`, for example."""
    wrong = _flaw(record, _RECORD)
    return wrong.lstrip(".") if wrong else _of_parts(record) or _of_lists(record) or _of_values(record)


def _flaw(data: Any, fields: Fields) -> str | None:
    """Return the first error of `data`, or None.

    The text continues a sentence that begins with the name of the data: `.hostname is missing`, ` is null`.
    """
    if not isinstance(data, dict):
        return f" is {_kind(data)}"
    for name, kinds in fields.items():
        value = data.get(name, _ABSENT)
        if not isinstance(value, kinds):
            return f".{name} is {_kind(value)}"
    return None


def _kind(value: Any) -> str:
    return "missing" if value is _ABSENT else _WORDS.get(type(value), "a number")


def _of_parts(record: Mapping[str, Any]) -> str | None:
    for name, fields in _PARTS.items():
        if record[name] is not None and (wrong := _flaw(record[name], fields)):
            return name + wrong
    return None


def _of_lists(record: Mapping[str, Any]) -> str | None:
    """Return the first error in a list or in the metrics."""
    for name, fields in _EACH.items():
        for place, each in enumerate(record[name]):
            if wrong := _flaw(each, fields):
                return f"{name}[{place}]{wrong}"
    for name, metric in (record["metrics"] or {}).items():
        if wrong := _flaw(metric, _METRIC):
            return f"metrics.{name}{wrong}"
    return None


def _of_values(record: Mapping[str, Any]) -> str | None:
    for name in ("job", "batch"):  # they become components of paths
        if not JOB_NAME.match(record[name]):
            return f"{name} is no name that hpcbench gives"
    for name in ("started_at", "ended_at"):
        if not _is_time(record[name]):
            return f"{name} is no time with a zone"
    if not all(_is_time(rank["ended_at"]) for rank in record["ranks"]):
        return "the ended_at of a rank is no time with a zone"
    parameters, samples = record["parameters"], record["samples"]
    if parameters["batch_size"] is None and parameters["framework"] != COMMAND:
        return "parameters.batch_size is null"
    if samples and not {*map(type, samples["times_s"])} <= _TIMES:
        return "samples.times_s holds what is no number"
    return None if {*map(type, record["warnings"])} <= {str} else "warnings holds what is no text"


def _is_time(text: str) -> bool:
    try:
        return datetime.datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
