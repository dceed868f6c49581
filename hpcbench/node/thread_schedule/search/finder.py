"""Find the schedule of a model's step: its sections, the count of each, and the confirmation of the gain."""

import os
import time
from types import MappingProxyType
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

import torch

from ... import thread_schedule
from ...host import cpuinfo
from .. import Applied, Schedule, Section, cpus
from . import parallel_branches, shortest_path, thread_activity
from .confirmation import Confirmation, Interval, TimeSteps, confirm
from .input_signature import inputs_of
from .readback import follow
from .record_fields import Checked, details
from .search import SearchResult, Settings, search
from .sections import Refused, Sections, Step, Whole

BUDGET_S = 30.0
NONE_CAN_BE_MADE = "no schedule can be made"


class Subject(NamedTuple):
    """A model and its step, with the limits of the search."""

    model: Any
    step: Step
    other: Optional[Step]  # with other inputs, which must not change the order of blocks; None if each step has others
    threads: Optional[int] = None  # maximum
    oversubscribe: bool = False  # whether it may exceed the CPUs
    depth: Optional[int] = None  # of sections in the tree of modules
    seed: int = 0
    made_for: Mapping[str, Any] = MappingProxyType({})  # further content for the file of a schedule


class ScheduleSearchResult(NamedTuple):
    """The result of a search. If one count is as good, `schedule` is None and `why` has the reason."""

    schedule: Optional[Schedule]
    why: Optional[str]
    fixed_threads: int  # the best single count
    gain: Optional[Interval]  # of the schedule over it, if both were run
    details: Dict[str, Any]  # of sections, changes and the search, as for a record


def find_schedule(
    model: Any,
    step: Step,
    other: Step,
    *,
    threads: Optional[int] = None,
    oversubscribe: bool = False,
    depth: Optional[int] = None,
    budget_s: float = BUDGET_S,
) -> ScheduleSearchResult:
    """Find a schedule with which `step`, a run of the model on the CPU, is significantly faster than with one count.

    The result's `schedule` is for `hpcbench.node.thread_schedule.write` and `apply_schedule`. `other` is a step with
    other inputs of the same shapes: if the order of blocks depends on the inputs, there is no schedule. Counts are
    powers of two and the current count of torch, up to `threads`, by default up to the CPUs of the process or its
    quota. Sections lie `depth` levels deep in the tree of modules, by default at its leaves. The search may take
    `budget_s` seconds of steps, and the confirmation as many. Afterwards the model and the thread count are restored;
    the weights are not if `step` trains.

    Raise ValueError for a compiled model, for `budget_s` or `threads` of 0 or less, for more threads than CPUs or their
    quota unless `oversubscribe`, and if the system is not Linux, whose clocks show which threads compute.
    """
    thread_schedule.refuse_compiled(model, NONE_CAN_BE_MADE)
    if not budget_s > 0:
        raise ValueError("%s: in %g s; budget_s is above 0" % (NONE_CAN_BE_MADE, budget_s))
    if not os.path.isdir(thread_activity.TASKS):
        raise ValueError(
            "%s: active threads can only be counted on Linux (%s)" % (NONE_CAN_BE_MADE, thread_activity.TASKS)
        )
    before = torch.get_num_threads()
    try:
        return Finder(Subject(model, step, other, threads, oversubscribe, depth), budget_s).find()
    finally:
        torch.set_num_threads(before)


def thread_limit(asked: Optional[int], oversubscribe: bool) -> int:
    """Return the maximum number of threads to try: `asked`, by default the CPUs of the process or its quota.

    Raise ValueError if it is less than 1, and, unless `oversubscribe`, if there are not enough CPUs.
    """
    if asked is None:
        return cpus.most_threads()
    if asked < 1:
        raise ValueError("%s: of %d threads; it takes one at least" % (NONE_CAN_BE_MADE, asked))
    over = None if oversubscribe else cpus.too_few_for(asked)
    if over:
        raise ValueError("%s: %s" % (NONE_CAN_BE_MADE, over))
    return asked


class Finder:
    """Finds the schedule of a subject. The search and the confirmation each take up to `budget_s` seconds of steps."""

    def __init__(self, subject: Subject, budget_s: float) -> None:
        self.subject, self.step, self.budget_s = subject, subject.step, budget_s
        limit = thread_limit(subject.threads, subject.oversubscribe)
        self.counts = shortest_path.counts_up_to(limit, torch.get_num_threads())  # with the default
        self.settings = Settings(budget_s=budget_s, seed=subject.seed)
        self.inputs: List[Dict[str, Any]] = []
        self.began = time.monotonic()

    def find(self) -> ScheduleSearchResult:
        """Return the result. The model is restored; the thread count of torch is not."""
        self.inputs = inputs_of(self.subject.model, self.step)  # the first step allocates
        try:
            checked = self._checked()
            try:
                found = self._search(checked.sections)
            finally:
                checked.sections.close()
        except Refused as reason:
            return self._result(self._search_whole(), str(reason))
        if not found.is_by_section:
            why = checked.sections.why_one() or "no change of the thread count is faster"
            return self._result(found, why, checked)
        return self._prove(found, checked)

    def _search(self, sections: Sections) -> SearchResult:
        ways = (sections.divisible, sections.time_whole)
        return search(sections.time_step, len(sections), self.counts, self.settings, *ways)

    def _search_whole(self) -> SearchResult:
        return search(Whole(self.step).time_step, 1, self.counts, self.settings)

    def _checked(self) -> Checked:
        """Return the sections, checked. Raise Refused if counts by section would have no effect."""
        sections = Sections(self.subject.model, self.step, self._branches(), self.subject.depth)
        try:
            self._check_other_inputs(sections)
            self._check_runtime()
            return Checked(sections, self._busy(sections))
        except BaseException:
            sections.close()
            raise

    def _check_runtime(self) -> None:
        """Raise Refused unless idle threads sleep and as many threads compute as were set."""
        if thread_activity.threads_spin_for_ever():
            why = "OMP_WAIT_POLICY, KMP_BLOCKTIME, or a thread of the program's own"
            raise Refused("threads compute outside the measured code (%s), which would distort the timing" % why)
        for count in self.counts:
            seen = thread_activity.computing(count)
            if seen < count:
                values = (count, seen)
                raise Refused("of %d threads that were set, %d compute (see OMP_THREAD_LIMIT and OMP_DYNAMIC)" % values)

    def _busy(self, sections: Sections) -> List[thread_activity.Busy]:
        """Return the threads that compute in the sections. Raise Refused if they are more than were set."""
        busy: List[thread_activity.Busy] = []
        for count in sorted({1, self.counts[-1]}):
            busy += thread_activity.busy_threads(sections, count)
        if sections.divisible:
            busy += thread_activity.busy_threads(sections, self.counts[-1], sections.divisible)
        disobeying = thread_activity.disobeying(busy)
        if disobeying:
            first = disobeying[0]
            values = (sections.begins[first.section].module, first.seen, first.threads)
            raise Refused("threads of the model ignore the setting: in %s, %d compute, but %d are set" % values)
        return busy

    def _branches(self) -> Mapping[str, Sequence[str]]:
        """Return the modules that seem faster with concurrent branches; none with gradients."""
        if self.counts[-1] == 1:
            return {}
        return parallel_branches.faster_branches(self.subject.model, self.step, self.counts[-1])

    def _check_other_inputs(self, sections: Sections) -> None:
        """Raise Refused if the order of blocks depends on the data."""
        if self.subject.other is None:
            return
        sections.step = self.subject.other
        try:
            sections.time_step([self.counts[-1]] * len(sections))
        finally:
            sections.step = self.step

    def _prove(self, found: SearchResult, checked: Checked) -> ScheduleSearchResult:
        made = self._schedule(found, checked.sections)
        try:
            follow(self.subject.model, made.sections, lambda: self._apply(made), self.step).applied.remove()
        except Refused as reason:
            return self._result(found, str(reason), checked)
        fixed = self._with_fixed(found.fixed.counts[0])
        proof = confirm(fixed, self._with_schedule(made), found.dynamic.seconds, self.budget_s)
        if not proof.certain:
            return self._result(found, "the schedule is not significantly faster", checked, proof)
        return self._result(found, None, checked, proof, made)

    def _schedule(self, found: SearchResult, sections: Sections) -> Schedule:
        parts = []
        for number, (place, count) in enumerate(zip(sections.begins, found.dynamic.counts)):
            branches = sections.branches(number) if number in found.divided else None
            parts.append(Section(place.module, place.phase, count, tuple(branches) if branches else None))
        made_for = {
            **self.subject.made_for,
            "inputs": self.inputs,
            "thread_limit": self.counts[-1],
            "cpu_model": cpuinfo.model(),
            "torch": torch.__version__,
        }
        return Schedule(thread_schedule.fingerprint(self.subject.model), tuple(parts), made_for)

    def _timed(self, steps: int) -> float:
        """Return the step time without instrumentation."""
        self.step()  # absorbs the after-effects of earlier steps
        start = time.perf_counter()
        for _ in range(steps):
            self.step()
        return (time.perf_counter() - start) / steps

    def _apply(self, made: Schedule) -> Applied:
        # The limit was checked before; if OpenMP binds threads, it seems lower while there are few threads.
        return thread_schedule.apply_schedule(self.subject.model, made, oversubscribe=True)

    def _with_schedule(self, made: Schedule) -> TimeSteps:
        def time_steps(steps: int) -> float:
            with self._apply(made):
                return self._timed(steps)

        return time_steps

    def _with_fixed(self, count: int) -> TimeSteps:
        def time_steps(steps: int) -> float:
            torch.set_num_threads(count)
            return self._timed(steps)

        return time_steps

    def _result(
        self,
        found: SearchResult,
        why: Optional[str],
        checked: Optional[Checked] = None,
        proof: Optional[Confirmation] = None,
        made: Optional[Schedule] = None,
    ) -> ScheduleSearchResult:
        fields = {**details(found, checked, proof), "profile_s": time.monotonic() - self.began}
        return ScheduleSearchResult(made, why, found.fixed.counts[0], proof.gain if proof else None, fields)
