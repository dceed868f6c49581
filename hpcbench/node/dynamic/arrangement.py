"""Threads by section for one repetition: measured, chosen and put in force, or the best fixed count and the reason."""

import math
import time
from dataclasses import replace
from typing import Any, Collection, Dict, List, Mapping, NamedTuple, Optional, Sequence

import torch

from .. import hardware, schedule
from ..checkup import quota
from ..checkup.system import System
from ..frameworks.base import Network
from ..outcomes import Unsupported
from ..schedule import Schedule, Section
from . import branching, path, verification
from .estimates import SectionTimes
from .proof import Proof, TimeSteps, prove
from .search import Found, Settings, search
from .sections import Refused, Sections, Step

SCHEDULE, FIXED = "schedule", "fixed"


def arrange(network: Network, step: Step, budget_s: float) -> Dict[str, Any]:
    """Put threads by section in force for the steps to come, and tell for the record what was found.

    `budget_s` is for the search, and again for the proof, in seconds of steps. Raises Unsupported where the case names
    a schedule that cannot be applied.
    """
    file = network.problem.parameters["schedule"]
    if file is not None:
        return _apply_file(network, file)
    return _Arranging(network, step, budget_s).arrange()


def _apply_file(network: Any, file: str) -> Dict[str, Any]:
    try:
        found = schedule.read(file)
        _check_room(found.sections)
        schedule.apply_schedule(network.model, found)
    except OSError as error:
        raise Unsupported("the schedule %s cannot be read: %s" % (file, error.strerror)) from error
    except ValueError as error:
        raise Unsupported(str(error)) from error
    why = "the case names the file %s" % file
    return {"answer": SCHEDULE, "why": why, "schedule": found.as_json(), "threads": _effective(found.sections)}


def _check_room(sections: Sequence[Section]) -> None:
    """Raises ValueError for more threads than the quota of CPU time allows."""
    most, limit = max(section.threads for section in sections), thread_limit(None)
    if most > limit:
        raise ValueError("the schedule has %d threads, and this process may use %d CPUs" % (most, limit))


def _effective(sections: Sequence[Section]) -> Dict[str, Any]:
    """What the record calls the threads in effect: the most of any section."""
    return {"intra_op": max(section.threads for section in sections), "by": "%s, by section" % schedule.SETTER}


def thread_limit(asked: Optional[int]) -> int:
    """The most threads worth a try: as many as were asked for, else the CPUs that the process and its quota have."""
    cpus = hardware.usable_cpus()
    tightest = quota.tightest(System(cpus))
    most = len(cpus) if tightest is None else max(1, min(len(cpus), math.ceil(tightest.cpus)))
    return most if asked is None else min(asked, most)


class _Whole:
    """The step as one section."""

    def __init__(self, step: Step) -> None:
        self.step = step

    def time_step(self, counts: Sequence[int], divided: Collection[int] = ()) -> List[float]:
        torch.set_num_threads(counts[0])
        start = time.perf_counter()
        self.step()
        return [time.perf_counter() - start]


class _Checked(NamedTuple):
    """Sections that can be trusted, and what was seen of their threads."""

    sections: Sections
    busy: List[verification.Busy]


class _Arranging:
    def __init__(self, network: Any, step: Step, budget_s: float) -> None:
        self.network, self.step, self.budget_s = network, step, budget_s
        parameters = network.problem.parameters
        self.counts = path.counts_up_to(thread_limit(parameters["intra_op_threads"]))
        self.settings = Settings(budget_s=budget_s, seed=parameters["seed"])
        self.began = time.monotonic()

    def arrange(self) -> Dict[str, Any]:
        self.step()  # the first allocates
        try:
            checked = self._checked()
            try:
                found = self._search(checked.sections)
            finally:
                checked.sections.close()
        except Refused as reason:
            return self._keep_fixed(self._search_whole(), str(reason))
        if found.dynamic.counts == found.fixed.counts and not found.divided:
            return self._keep_fixed(found, "no change of the count is worth what it costs", checked)
        return self._prove(found, checked)

    def _search(self, sections: Sections) -> Found:
        return search(sections.time_step, len(sections), self.counts, self.settings, sections.divisible)

    def _search_whole(self) -> Found:
        return search(_Whole(self.step).time_step, 1, self.counts, self.settings)

    def _checked(self) -> _Checked:
        """Raises Refused where counts by section would mean nothing."""
        depth = self.network.problem.parameters["section_depth"]
        sections = Sections(self.network.model, self.step, self._branches(), depth)
        try:
            self._check_other_inputs(sections)
            busy: List[verification.Busy] = []
            for count in sorted({1, self.counts[-1]}):
                busy += verification.busy_threads(sections, count)
            if sections.divisible:
                busy += verification.busy_threads(sections, self.counts[-1], sections.divisible)
            disobeying = verification.disobeying(busy)
            if disobeying:
                first = disobeying[0]
                told = (sections.begins[first.section].module, first.seen, first.threads)
                raise Refused("threads of its own ignore the setting: in %s, %d compute where %d may" % told)
        except BaseException:
            sections.close()
            raise
        return _Checked(sections, busy)

    def _branches(self) -> Mapping[str, Sequence[str]]:
        """Of modules that seem to be faster with them side by side. Backward passes have one thread for all of them."""
        if self.network.problem.training or self.counts[-1] == 1:
            return {}
        return branching.worth_a_try(self.network.model, self.step, self.counts[-1])

    def _check_other_inputs(self, sections: Sections) -> None:
        """The order of blocks must not depend on data; an input pipeline brings other data with every step anyway."""
        problem = self.network.problem
        if problem.split:
            return
        other = replace(problem, parameters={**problem.parameters, "seed": problem.parameters["seed"] + 1})
        inputs, labels = self.network.on_device(*other.batch())
        usual = sections.step
        if problem.training:
            sections.step = lambda: self.network.learn(inputs, labels)
        else:
            sections.step = lambda: self.network.predict(inputs)
        try:
            sections.time_step([self.counts[-1]] * len(sections))
        finally:
            sections.step = usual

    def _prove(self, found: Found, checked: _Checked) -> Dict[str, Any]:
        made = self._schedule(found, checked.sections)
        fixed = self._with_fixed(found.fixed.counts[0])
        proof = prove(fixed, self._with_schedule(made), found.dynamic.seconds, self.budget_s)
        if not proof.certain:
            return self._keep_fixed(found, "that the schedule is faster is not certain", checked, proof)
        schedule.apply_schedule(self.network.model, made)
        return self._told(SCHEDULE, None, found, checked, proof, made)

    def _schedule(self, found: Found, sections: Sections) -> Schedule:
        parts = []
        for number, (place, count) in enumerate(zip(sections.begins, found.dynamic.counts)):
            branches = sections.branches(number) if number in found.divided else None
            parts.append(Section(place.module, place.phase, count, tuple(branches) if branches else None))
        parameters = self.network.problem.parameters
        made_for = {
            "task": parameters["task"],
            "batch_shape": list(self.network.work.input_shape),
            "dtype": parameters["dtype"],
            "thread_limit": self.counts[-1],
            "cpu_model": hardware.cpu_model(),
            "torch": torch.__version__,
        }
        return Schedule(schedule.fingerprint(self.network.model), tuple(parts), made_for)

    def _timed(self, steps: int) -> float:
        """Of a step as a user would take it."""
        self.step()  # pays for what the last ones have left
        start = time.perf_counter()
        for _ in range(steps):
            self.step()
        return (time.perf_counter() - start) / steps

    def _with_schedule(self, made: Schedule) -> TimeSteps:
        def time_steps(steps: int) -> float:
            with schedule.apply_schedule(self.network.model, made):
                return self._timed(steps)

        return time_steps

    def _with_fixed(self, count: int) -> TimeSteps:
        def time_steps(steps: int) -> float:
            torch.set_num_threads(count)
            return self._timed(steps)

        return time_steps

    def _keep_fixed(
        self, found: Found, why: str, checked: Optional[_Checked] = None, proof: Optional[Proof] = None
    ) -> Dict[str, Any]:
        torch.set_num_threads(found.fixed.counts[0])
        return self._told(FIXED, why, found, checked, proof, None)

    def _told(
        self,
        answer: str,
        why: Optional[str],
        found: Found,
        checked: Optional[_Checked],
        proof: Optional[Proof],
        made: Optional[Schedule],
    ) -> Dict[str, Any]:
        """For the record. Intervals are (median, low, high); errors are standard errors in seconds."""
        times = found.times
        return {
            "answer": answer,
            "why": why,
            "schedule": made.as_json() if made else None,
            "threads": _effective(made.sections) if made else {},
            "fixed_threads": found.fixed.counts[0],
            "predicted": {"fixed_s": found.fixed.seconds, "dynamic_s": found.dynamic.seconds},
            "measured": dict(proof._asdict(), gain=list(proof.gain)) if proof else None,
            "sections": _told_sections(found, checked),
            "changes": [
                dict(before=before, after=after, **times.change(before, after)._asdict())
                for before, after in times.changes()
            ],
            "search_steps": found.steps,
            "profile_s": time.monotonic() - self.began,
        }


def _told_sections(found: Found, checked: Optional[_Checked]) -> List[Dict[str, Any]]:
    if checked is None:
        return []
    return [
        {
            **place._asdict(),
            "branches": checked.sections.branches(number),
            "times_s": _told_times(found.in_turn, number),
            "side_by_side_s": _told_times(found.side_by_side, number),
            "chosen": found.dynamic.counts[number],
            "side_by_side": number in found.divided,
            "busy": _told_busy(checked.busy, number, False),
            "busy_side_by_side": _told_busy(checked.busy, number, True),
        }
        for number, place in enumerate(checked.sections.begins)
    ]


def _told_times(times: SectionTimes, section: int) -> Dict[str, Any]:
    """(seconds, error) by count."""
    return {str(count): list(times.of(section, count)) for count in times.seconds(section)}


def _told_busy(busy: Sequence[verification.Busy], section: int, side_by_side: bool) -> Dict[str, int]:
    """Threads seen to compute, by count."""
    told = [each for each in busy if each.section == section and each.side_by_side == side_by_side]
    return {str(each.threads): each.seen for each in told}
