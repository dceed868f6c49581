"""Search for a per-layer thread plan, and compare it with the best fixed configuration, also at other shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from hpcbench.config.validation.findings import first_message
from hpcbench.core import status
from hpcbench.core.frameworks import SCHEDULE
from hpcbench.core.record import Record
from hpcbench.plan.case import Case
from hpcbench.tuning.ask_tell import Trials
from hpcbench.tuning.fidelity import Stage
from hpcbench.tuning.measurements import Measurements, Steps
from hpcbench.tuning.paired_comparison import Verdict, compare
from hpcbench.tuning.result import HeldOutResult, ScheduleResult
from hpcbench.tuning.search_space import changed


@dataclass(frozen=True)
class ScheduleSearch:
    """The search for a thread plan, after the search of an experiment.

    `cases` are those of the preceding search, to which the indices in `trials` and `best`, its result, refer.
    `save_schedule` takes a case ID and a per-layer thread plan, and returns the path for `schedule` of a case.
    """

    measurements: Measurements
    trials: Trials
    cases: Sequence[Case]
    best: int
    max_pairs: int
    save_schedule: Callable[[str, Mapping[str, Any]], str]

    def run(self, dynamic: Case, held_out: Sequence[Mapping[str, Any]]) -> Steps[ScheduleResult]:
        """Return the gain of a thread plan over the best fixed configuration.

        `dynamic` is the case of the experiment that requests the plan; `held_out` are the shapes at which the plan is
        compared again if its gain is significant.
        """
        left = len(held_out)
        try:
            searching = searching_case(self.cases[self.best], dynamic)
        except ValidationError as error:  # for example, the best one is of a framework without layer groups
            return ScheduleResult(None, first_message(error), 0.0, held_out_left=left)
        record = yield from self.measurements.measure(searching, Stage.FULL)
        why = _why_none(record)
        found = ScheduleResult(None, why, self.measurements.seconds, held_out_left=left)
        if why is None:
            found = yield from self._compare(record, searching, held_out)
        return replace(found, fixed_threads=(record.dynamic or {}).get("fixed_threads"))

    def _compare(self, record: Record, searching: Case, held_out: Sequence[Mapping[str, Any]]) -> Steps[ScheduleResult]:
        file = self.save_schedule(record.case_id, (record.dynamic or {})["schedule"])
        fixed, scheduled = self.cases[self.best], following(searching, file)
        verdict = yield from self._compare_pairs(fixed, scheduled)
        found = ScheduleResult(file, None, self.measurements.seconds, verdict.gain, held_out_left=len(held_out))
        if verdict.gain is None:
            why = f"a thread plan was found, but {self._why_failed(fixed, scheduled)}"
            return replace(found, schedule=None, why=why)
        if not verdict.certain:
            return found
        shapes = []
        for shape in held_out:
            shapes.append((yield from self._at_shape(fixed, scheduled, shape)))
        return replace(found, certain=True, held_out=tuple(shapes), held_out_left=0)

    def _at_shape(self, fixed: Case, scheduled: Case, shape: Mapping[str, Any]) -> Steps[HeldOutResult]:
        both = at_shape(fixed, shape), at_shape(scheduled, shape)
        verdict = yield from self._compare_pairs(*both)
        if verdict.gain is None:  # a failure of the fixed one counts as certain, but without a gain
            return HeldOutResult(shape, None, False, self._why_failed(*both))
        return HeldOutResult(shape, verdict.gain, verdict.certain)

    def _compare_pairs(self, fixed: Case, scheduled: Case) -> Steps[Verdict]:
        first = len(self.cases)
        # The measurements of the preceding search estimate the noise; at another shape, configurations are new ones.
        steps = compare(self.trials.continued(), first + 1, first, self.max_pairs)
        return (yield from self.measurements.run(steps, [*self.cases, fixed, scheduled]))

    def _why_failed(self, fixed: Case, scheduled: Case) -> str:
        failures = self.measurements.failures(scheduled)
        which = "following it" if failures else "the best fixed configuration"
        return f"{which} failed: {(failures or self.measurements.failures(fixed))[0]}"


def _why_none(record: Record) -> str | None:
    """Return why a run has found no thread plan, or None if it has found one."""
    if record.status != status.COMPLETED:
        return record.in_words
    found = record.dynamic or {}
    return None if found.get("answer") == SCHEDULE else str(found.get("why"))


_OF_ONE_COUNT = ("instances", "execution", "compile_mode", "schedule")  # parameters that a plan replaces or excludes
_ASKED = ("threads", "intra_op_threads", "section_depth")  # parameters of the case that requests the plan


def searching_case(best: Case, dynamic: Case) -> Case:
    """Return the case that searches for a per-layer thread plan, with the other settings of the best configuration.

    Limits of threads and depth are those of `dynamic`.
    """
    asked = {name: getattr(dynamic.parameters, name) for name in _ASKED}
    return changed(best, {**dict.fromkeys(_OF_ONE_COUNT), **asked})


def following(by_section: Case, schedule: str) -> Case:
    """Return the case that follows the thread plan in a file of the workspace."""
    return changed(by_section, {"schedule": schedule, "section_depth": None})


def at_shape(case: Case, shape: Mapping[str, Any]) -> Case:
    """Return the case with other sizes: `batch_size` and `model_options.NAME`.

    Raise ValueError for an invalid network.
    """
    options = {name.partition(".")[2]: value for name, value in shape.items() if "." in name}
    sizes = {name: value for name, value in shape.items() if "." not in name}
    return changed(case, {**sizes, "model_options": {**case.parameters.model_options, **options}})
