"""Threads by section for one repetition: measured, chosen and put in force, or the best fixed count and the reason."""

from dataclasses import replace
from typing import Any, Dict, Optional, Sequence

import torch

from .. import schedule
from ..catalog import FIXED, SCHEDULE
from ..outcomes import Unsupported
from ..schedule import Section
from .finding import Finder, Subject
from .sections import Step


def arrange(network: Any, step: Step, budget_s: float) -> Dict[str, Any]:
    """Put threads by section in force for the steps to come, and tell for the record what was found.

    `budget_s` is for the search, and again for the proof, in seconds of steps. Raises Unsupported where the case names
    a schedule that cannot be applied.
    """
    file = network.problem.parameters["schedule"]
    if file is not None:
        return _apply_file(network, file)
    found = Finder(_subject(network, step), budget_s).find()
    if found.schedule is None:
        torch.set_num_threads(found.fixed_threads)
    else:
        oversubscribe = network.problem.parameters["oversubscribe"]
        schedule.apply_schedule(network.model, found.schedule, oversubscribe=oversubscribe)
    return {
        "answer": SCHEDULE if found.schedule else FIXED,
        "why": found.why,
        "schedule": found.schedule.as_json() if found.schedule else None,
        "threads": _effective(found.schedule.sections) if found.schedule else {},
        "fixed_threads": found.fixed_threads,
        **found.details,
    }


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
        made_for={
            "task": parameters["task"],
            "batch_shape": list(network.work.input_shape),
            "dtype": parameters["dtype"],
        },
    )


def _other_step(network: Any) -> Optional[Step]:
    """A step with other inputs; none of an input pipeline, which brings others with every step."""
    problem = network.problem
    if problem.split:
        return None
    other = replace(problem, parameters={**problem.parameters, "seed": problem.parameters["seed"] + 1})
    inputs, labels = network.on_device(*other.batch())
    if problem.training:
        return lambda: network.learn(inputs, labels)
    return lambda: network.predict(inputs)


def _apply_file(network: Any, file: str) -> Dict[str, Any]:
    try:
        found = schedule.read(file)
        schedule.apply_schedule(network.model, file, oversubscribe=network.problem.parameters["oversubscribe"])
    except OSError as error:
        raise Unsupported("the schedule %s cannot be read: %s" % (file, error.strerror)) from error
    except ValueError as error:
        raise Unsupported(str(error)) from error
    why = "the case names the file %s" % file
    return {"answer": SCHEDULE, "why": why, "schedule": found.as_json(), "threads": _effective(found.sections)}


def _effective(sections: Sequence[Section]) -> Dict[str, Any]:
    """What the record calls the threads in effect: the most of any section."""
    return {"intra_op": max(section.threads for section in sections), "by": "%s, by section" % schedule.SETTER}
