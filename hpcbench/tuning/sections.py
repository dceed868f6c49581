"""Threads by section of the network: the cases that put a schedule beside the best fixed setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hpcbench.plan.case import Case
from hpcbench.tuning.space import changed

_OF_ONE_COUNT = ("instances", "execution", "compile_mode", "schedule")  # a schedule has its own
_ASKED = ("threads", "intra_op_threads", "section_depth")  # of a case of threads by section


def measured_by_section(best: Case, dynamic: Case) -> Case:
    """The best setting with a count of threads for each section, which a repetition of it has to find: of as many
    threads at most, and in sections as deep, as the experiment asks for by a `dynamic` case."""
    asked = {name: getattr(dynamic.parameters, name) for name in _ASKED}
    return changed(best, {**dict.fromkeys(_OF_ONE_COUNT), **asked})


def following(by_section: Case, schedule: str) -> Case:
    """The same with the schedule in a file of the workspace."""
    return changed(by_section, {"schedule": schedule, "section_depth": None})


def at_shape(case: Case, shape: Mapping[str, Any]) -> Case:
    """The case with other sizes, as `batch_size` and `model_options.NAME`. Raises ValueError for what is no network."""
    options = {name.partition(".")[2]: value for name, value in shape.items() if "." in name}
    sizes = {name: value for name, value in shape.items() if "." not in name}
    return changed(case, {**sizes, "model_options": {**case.parameters.model_options, **options}})
