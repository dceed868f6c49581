"""Finding a schedule of threads by section, and holding it against the best fixed setting, also at other shapes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from hpcbench.config.yaml_document import first_message
from hpcbench.core import status
from hpcbench.core.files import write_whole
from hpcbench.core.frameworks import SCHEDULE
from hpcbench.core.record import Record
from hpcbench.plan.case import Case
from hpcbench.store.records import ending
from hpcbench.tuning.ask_tell import Notebook, conduct
from hpcbench.tuning.fidelity import Stage
from hpcbench.tuning.measurement_runner import Bench
from hpcbench.tuning.paired_comparison import Verdict, duel
from hpcbench.tuning.result import AtShape, BySection
from hpcbench.tuning.search_space import changed


@dataclass(frozen=True)
class SectionSearch:
    """`cases` are those of the search before, by the numbers that its notebook knows them by."""

    bench: Bench
    notebook: Notebook
    cases: Sequence[Case]
    best: int
    dynamic: Case  # as the experiment asks for it
    most_pairs: int

    def run(self, held_out: Sequence[Mapping[str, Any]]) -> BySection:
        """What threads by section gain over the best fixed setting."""
        try:
            by_section = measured_by_section(self.cases[self.best], self.dynamic)
        except ValidationError as error:  # the best one is of a framework, say, that has no sections
            return BySection(None, first_message(error), 0.0, held_out_left=len(held_out))
        record = self.bench.record(by_section, Stage.FULL)
        found = self._found(record, by_section, held_out)
        return replace(found, fixed_threads=(record.dynamic or {}).get("fixed_threads"))

    def _found(self, record: Record, by_section: Case, held_out: Sequence[Mapping[str, Any]]) -> BySection:
        """From the repetition that has looked for a schedule."""
        none = _why_none(record)
        if none is not None:
            return BySection(None, none, self.bench.seconds, held_out_left=len(held_out))
        file = self._kept(record)
        scheduled = following(by_section, file)
        verdict = self._beside(self.cases[self.best], scheduled)
        if verdict.gain is None:
            why = f"a schedule was found, but {self._why_failed(self.cases[self.best], scheduled)}"
            return BySection(None, why, self.bench.seconds, held_out_left=len(held_out))
        if not verdict.certain:
            return BySection(file, None, self.bench.seconds, verdict.gain, held_out_left=len(held_out))
        shapes = [self._at_shape(scheduled, shape) for shape in held_out]
        return BySection(file, None, self.bench.seconds, verdict.gain, True, tuple(shapes))

    def _why_failed(self, fixed: Case, scheduled: Case) -> str:
        """Why the two could not be compared."""
        for_it, for_fixed = self.bench.failures(scheduled), self.bench.failures(fixed)
        which = "following it" if for_it else "the best fixed setting beside it"
        return f"{which} failed: {(for_it or for_fixed)[0]}"

    def _kept(self, record: Record) -> str:
        """The schedule of a record as a file; its path in the workspace."""
        results = self.bench.sweep.paths.results
        path = results / "schedules" / f"{record.case_id}.json"
        write_whole(str(path), json.dumps((record.dynamic or {})["schedule"], indent=1) + "\n")
        return str(path.relative_to(results.parents[1]))

    def _at_shape(self, scheduled: Case, shape: Mapping[str, Any]) -> AtShape:
        both = at_shape(self.cases[self.best], shape), at_shape(scheduled, shape)
        verdict = self._beside(*both)
        if verdict.gain is None:  # of a fixed setting that fails, a duel is certain: but nothing is known of a gain
            return AtShape(shape, None, False, self._why_failed(*both))
        return AtShape(shape, verdict.gain, verdict.certain)

    def _beside(self, fixed: Case, scheduled: Case) -> Verdict:
        first = len(self.cases)
        cases = [*self.cases, fixed, scheduled]
        # What is known of the noise is that of the search before; settings at another shape are others.
        notebook = self.notebook.continued()
        steps = duel(notebook, first + 1, first, self.most_pairs)
        return conduct(steps, lambda block: self.bench.block(cases, block))


def _why_none(record: Record) -> str | None:
    """Why a repetition has found no schedule; None where it has."""
    if record.status != status.COMPLETED:
        return ending(record)
    found = record.dynamic or {}
    return None if found.get("answer") == SCHEDULE else str(found.get("why"))


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
