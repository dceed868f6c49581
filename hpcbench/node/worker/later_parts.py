"""What follows the measurement of a run: the validation, a second training, and the profile of operators.

The result leaves the worker before the first part, and again after each part: the end of the process in a part loses
neither the measurement nor the earlier parts. A part that is missing from the result has a reason.
"""

import traceback
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple

from ...core.run_spec import PlannedRun
from ...core.status import COMPLETED
from ...core.training.trajectory import RUNS, TASKS, Trajectory
from ...core.typed_json import to_json
from ...core.validation.result import NOT_VALIDATED, Validation
from ..errors import BadModel, Invalid
from ..host import hardware
from ..launch.rank_files import Files

if TYPE_CHECKING:
    from ..frameworks.adapter import Adapter

Facts = Dict[str, Any]
Save = Callable[[Facts], None]
_VALIDATION, _TRAJECTORY, _PROFILE = "validation", "trajectory", "profile"
_ENDED = "the process of the rank ended before it was complete"


class Outlet(NamedTuple):
    """Where the results of a worker go, in addition to the facts that it returns."""

    files: Files
    save: Save  # stores facts that are complete except for later parts


def follow(adapter: "Adapter", computation: Any, planned: PlannedRun, facts: Facts, outlet: Outlet) -> bool:
    """Validate, train again and profile, as the case requires. Add the results to `facts`, or why they are missing.

    Return whether this rank has done the same steps as the others. Raise Invalid if the validation failed, and BadModel
    if the user's code failed in it.
    """
    left, in_step = _parts(planned, outlet.files, computation.problem.all_ranks.rank), True
    if left:
        outlet.save(_so_far(facts, left))
    while left:
        part = left.pop(0)
        try:
            in_step = _do(part, adapter, computation, planned, facts, outlet.files) and in_step
        except Invalid:
            add_reasons(facts, left, "the validation failed")
            raise
        except Exception as error:
            if isinstance(error, BadModel) and part == _VALIDATION:
                add_reasons(facts, [part, *left], "the user's code failed in the validation")
                raise
            traceback.print_exc()
            first = (str(error).strip().splitlines() or [""])[0]
            add_reasons(facts, [part], "it failed (%s: %s)" % (type(error).__name__, first))
            in_step = False
        if left:
            outlet.save(_so_far(facts, left))
    return in_step


def skip(planned: PlannedRun, files: Files, rank: int, facts: Facts, reason: str) -> None:
    """Add to `facts` why all parts are missing."""
    add_reasons(facts, _parts(planned, files, rank), reason)


def add_reasons(facts: Facts, parts: List[str], reason: str) -> None:
    """Add to `facts` why these parts are missing."""
    for part in parts:
        if part == _VALIDATION:
            facts[part] = to_json(Validation(NOT_VALIDATED, reason))
        elif part == _TRAJECTORY:
            facts[part] = to_json(Trajectory(reason=reason))
        else:
            facts["warnings"].append("profile: %s" % reason)


def _parts(planned: PlannedRun, files: Files, rank: int) -> List[str]:
    """Return the parts of a run on this rank, in their order."""
    recorded = files.trajectory and planned.parameters["task"] in TASKS and planned.run <= RUNS and not rank
    wanted = {_VALIDATION: planned.parameters["validate"], _TRAJECTORY: recorded, _PROFILE: files.profile}
    return [part for part, is_wanted in wanted.items() if is_wanted]


def _so_far(facts: Facts, left: List[str]) -> Facts:
    """Return the facts of a completed measurement whose process ends before the remaining parts are complete."""
    facts.setdefault("peak_memory_bytes", hardware.peak_resident_bytes())  # without what follows
    found = {**facts, "status": COMPLETED, "warnings": list(facts["warnings"])}
    add_reasons(found, left, _ENDED)
    return found


def _do(part: str, adapter: "Adapter", computation: Any, planned: PlannedRun, facts: Facts, files: Files) -> bool:
    """Do one part, and return whether this rank is in step. Its modules need numpy, which every framework requires."""
    if part == _VALIDATION:
        from .validation.of_run import validate_run

        return validate_run(adapter, computation, facts)
    if part == _TRAJECTORY:
        from . import trajectory

        facts[part] = to_json(trajectory.record(adapter, computation, planned, files.trajectory or ""))
    else:
        from . import profiling

        profiling.profile(adapter, computation, planned, facts, files.profile or "")
    return True
