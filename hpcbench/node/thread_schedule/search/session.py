"""The per-layer thread plan of one run: search and apply a schedule, or the best fixed count with the reason."""

import time
from dataclasses import replace
from typing import Any, Dict, Optional

import torch

from ....core.frameworks import FIXED, SCHEDULE
from ... import thread_schedule
from ...errors import Unsupported
from .. import Applied, Schedule
from .finder import Finder, Subject
from .readback import follow
from .sections import Refused, Step


def search_schedule(network: Any, step: Step, budget_s: float) -> Dict[str, Any]:
    """Search a schedule for `apply_or_search`. Search and confirmation each take up to `budget_s` seconds of steps."""
    found = Finder(_subject(network, step), budget_s).find()
    return {
        "schedule": found.schedule.as_json() if found.schedule else None,
        "why": found.why,
        "fixed_threads": found.fixed_threads,
        **found.details,
    }


def apply_or_search(network: Any, step: Step, found: Optional[Dict[str, Any]]) -> Dict[str, Any]:
    """Apply a schedule for the steps to come; return the fields for the record.

    The schedule is the one that was found, or, without a search, that of the file that the case names. `first_step_s`
    is the first step of the run, which includes its one-off costs. Raise Unsupported if the file's schedule cannot
    be applied or followed.
    """
    start = time.perf_counter()
    step()
    first_step_s = time.perf_counter() - start
    fields_of_file = _follow_file(network, step) if found is None else _follow_found(network, step, found)
    return {**fields_of_file, "first_step_s": first_step_s}


def _follow_found(network: Any, step: Step, found: Dict[str, Any]) -> Dict[str, Any]:
    made, why, threads = found["schedule"], found["why"], {}
    if made is not None:
        try:
            threads = _follow(network, step, thread_schedule.parse(made))
        except Refused as reason:
            made, why = None, str(reason)
    if made is None:
        torch.set_num_threads(found["fixed_threads"])
    return {**found, "answer": SCHEDULE if made else FIXED, "schedule": made, "why": why, "threads": threads}


def _subject(network: Any, step: Step) -> Subject:
    parameters = network.problem.parameters
    return Subject(
        model=network.model,
        step=step,
        other=_other_step(network),
        threads=parameters["intra_op_threads"],
        oversubscribe=parameters["oversubscribe"],
        depth=parameters["section_depth"],
        seed=parameters["seed"],
        made_for={"task": parameters["task"], "dtype": parameters["dtype"]},
    )


def _other_step(network: Any) -> Optional[Step]:
    """Return a step with other inputs; None for an input pipeline, which always has others."""
    problem = network.problem
    if problem.split:
        return None
    other = replace(problem, parameters={**problem.parameters, "seed": problem.parameters["seed"] + 1})
    inputs, labels = network.on_device(*network.synthetic_batch(other))
    if problem.training:
        return lambda: network.learn([(inputs, labels)] * problem.batches_per_step)
    return lambda: network.predict(inputs)


def _follow_file(network: Any, step: Step) -> Dict[str, Any]:
    file = network.problem.parameters["schedule"]
    try:
        found = thread_schedule.read(file)
    except OSError as error:
        raise Unsupported("the schedule %s cannot be read: %s" % (file, error.strerror)) from error
    except ValueError as error:
        raise Unsupported(str(error)) from error
    try:  # the schedule that was read, not the file again: the record has what is applied
        threads = _follow(network, step, found, "%s: " % file)
    except Refused as error:
        advice = "without `schedule`, the best fixed count is searched"
        raise Unsupported("the schedule %s cannot be followed: %s; %s" % (file, error, advice)) from error
    why = "the case names the file %s" % file
    return {"answer": SCHEDULE, "why": why, "schedule": found.as_json(), "threads": threads}


def _follow(network: Any, step: Step, made: Schedule, where: str = "") -> Dict[str, Any]:
    """Apply a schedule, and return its record fields. Raise Unsupported, beginning with `where`, if it fails."""

    def apply() -> Applied:
        oversubscribe = network.problem.parameters["oversubscribe"]
        try:
            return thread_schedule.apply_schedule(network.model, made, oversubscribe=oversubscribe)
        except ValueError as error:
            raise Unsupported(where + str(error)) from error

    counts = follow(network.model, made.sections, apply, step).counts
    return {"intra_op": max(counts), "by": "%s, by layer group" % thread_schedule.SETTER}
