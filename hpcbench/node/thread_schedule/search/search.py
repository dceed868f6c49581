"""Search the thread count of each section, with as few steps as the choice requires.

Steps at one count everywhere give the times of sections. They are interleaved, so that interference affects all counts
alike. The cost of a change is measured where it would be used: the currently best path is run to measure the costs of
its changes, until every change of the best path was measured (Dellin and Srinivasa, 2016, "A unifying formalism for
shortest path problems with expensive edge evaluations via lazy best-first search over edge selectors", ICAPS). Unknown
changes cost nothing until then, so that none is overlooked.
"""

import math
import random
from typing import Collection, Dict, FrozenSet, List, NamedTuple, Optional, Protocol, Sequence, Set, Tuple

from . import shortest_path
from .estimates import Estimate, SectionTimes, Z, difference


class TimeStep(Protocol):
    """Takes a step with these counts by section; the branches of the `divided` sections compute concurrently."""

    def __call__(self, counts: Sequence[int], divided: Collection[int] = ()) -> Sequence[float]:
        """Return the seconds of each section."""
        ...


STEPS_OF_A_VISIT = 3  # after one that does not count, because it follows other counts
FEWEST_VISITS = 3  # of a count
MOST_VISITS = 100  # of a count, and of a path
MOST_PATHS = 16  # to try; after them, an unknown change costs as much as the most expensive known one


class Settings(NamedTuple):
    """The limits of a search."""

    tolerance: float = 0.005  # of the step: limit of the total error of a count where it may be best
    budget_s: float = math.inf  # of all steps
    seed: int = 0


_USUAL = Settings()


class SearchResult(NamedTuple):
    """The count of every section and the expected times; `fixed` is the best single count."""

    dynamic: shortest_path.Path
    divided: FrozenSet[int]  # sections of it whose branches compute concurrently
    fixed: shortest_path.Path
    steps: int
    times: SectionTimes  # those of the dynamic path
    in_turn: SectionTimes  # with all branches sequential
    side_by_side: SectionTimes  # with concurrent branches, only sections that have them

    @property
    def is_by_section(self) -> bool:
        """Return whether sections differ in count or compute branches concurrently; otherwise no schedule is needed."""
        return len(set(self.dynamic.counts)) > 1 or bool(self.divided)


def search(
    time_step: TimeStep,
    sections: int,
    counts: Sequence[int],
    settings: Settings = _USUAL,
    divisible: Collection[int] = (),
    time_whole: Optional[TimeStep] = None,
) -> SearchResult:
    """Choose the count of each section, and for `divisible` sections whether their branches compute concurrently.

    `time_whole` takes a step with one count as users do, as one section; it decides which single count is the best.
    By default `time_step` does.
    """
    return _Search(time_step, sections, counts, settings, divisible, time_whole).run()


class _Uniform(NamedTuple):
    """One count everywhere: with sequential branches, with concurrent branches, or in the step as users take it."""

    threads: int
    divided: FrozenSet[int] = frozenset()
    is_whole: bool = False


class _Search:
    def __init__(
        self,
        time_step: TimeStep,
        sections: int,
        counts: Sequence[int],
        settings: Settings,
        divisible: Collection[int],
        time_whole: Optional[TimeStep],
    ) -> None:
        self.time_step, self.time_whole, self.counts, self.settings = time_step, time_whole, list(counts), settings
        self.divisible = frozenset(divisible)
        self.in_turn, self.side_by_side = SectionTimes(sections), SectionTimes(sections)
        self.times = self.in_turn
        self.divided: Set[Tuple[int, int]] = set()  # sections and counts that are faster with concurrent branches
        self.whole = SectionTimes(1)  # of steps with one count as users take them
        self.steps, self.spent_s = 0, 0.0
        self.unknown_s = 0.0  # cost of a change that was not measured

    def run(self) -> SearchResult:
        self._time_counts()
        self._choose_divided()
        in_turn_s = [self.in_turn.seconds(section) for section in range(self.times.sections)]
        fixed = shortest_path.best_fixed(in_turn_s, self.whole.seconds(0))
        paths = [fixed]
        if len(self.counts) > 1 and (self.times.sections > 1 or self.divided):
            paths.append(self._time_changes([self.times.seconds(section) for section in range(self.times.sections)]))
        dynamic = min(paths, key=lambda each: each.seconds)
        divided = frozenset() if dynamic is fixed else self._divided(dynamic.counts)
        found = (self.times, self.in_turn, self.side_by_side)
        return SearchResult(dynamic, divided, fixed, self.steps, *found)

    def _choose_divided(self) -> None:
        """Choose concurrent branches where they are significantly faster."""
        for section in self.divisible:
            for count in self.side_by_side.seconds(section):
                if difference(self.in_turn.of(section, count), self.side_by_side.of(section, count)).low_s > 0:
                    self.divided.add((section, count))
        self.times = self.in_turn.with_sections_of(self.side_by_side, self.divided)

    def _divided(self, counts: Sequence[int]) -> FrozenSet[int]:
        return frozenset(section for section, count in enumerate(counts) if (section, count) in self.divided)

    def _visit_uniform(self, each: _Uniform) -> None:
        if each.is_whole:
            return self._visit([each.threads], each.divided, self.whole)
        times = self.side_by_side if each.divided else self.in_turn
        return self._visit([each.threads] * times.sections, each.divided, times)

    def _visit(self, counts: Sequence[int], divided: FrozenSet[int], times: SectionTimes) -> None:
        """Take a few steps with these counts. The first one absorbs the after-effects of the last counts."""
        time_step = self.time_whole if times is self.whole and self.time_whole else self.time_step
        for turn in range(1 + STEPS_OF_A_VISIT):
            times_s = time_step(counts, divided)
            self.steps += 1
            self.spent_s += sum(times_s)
            if turn:
                times.add(counts, times_s)
                if times is self.in_turn and not self.time_whole and len(set(counts)) == 1:
                    self.whole.add(counts[:1], [sum(times_s)])

    @property
    def _spent(self) -> bool:
        return self.spent_s >= self.settings.budget_s

    def _time_counts(self) -> None:
        order = random.Random(self.settings.seed)  # noqa: S311  it orders visits
        uniform = [_Uniform(count) for count in self.counts]
        if self.divisible:
            uniform += [_Uniform(count, self.divisible) for count in self.counts if count > 1]
        if self.time_whole:
            uniform += [_Uniform(count, is_whole=True) for count in self.counts]
        wanted, visits = uniform, 0
        while wanted and visits < MOST_VISITS and not (visits >= FEWEST_VISITS and self._spent):
            for each in order.sample(wanted, len(wanted)):
                self._visit_uniform(each)
            visits += 1
            if visits >= FEWEST_VISITS:
                wanted = self._unsure(uniform)

    def _unsure(self, uniform: Sequence[_Uniform]) -> List[_Uniform]:
        """Return the uniform settings that may be the best, and whose errors are still too large."""
        by_section = [self._known(section, uniform) for section in range(self.times.sections)]
        deciding = [each for each in uniform if not each.divided and each.is_whole == bool(self.time_whole)]
        totals = {each: self.whole.of(0, each.threads) for each in deciding}
        allowed_s = self.settings.tolerance * min(total.seconds for total in totals.values())
        unsure_s = {each: Z * totals[each].error_s for each in _may_be_best(totals)}
        of_sections = dict.fromkeys(uniform, 0.0)
        for known in by_section:
            for each in _may_be_best(known):
                of_sections[each] += Z * known[each].error_s
        return [each for each in uniform if max(of_sections[each], unsure_s.get(each, 0.0)) > allowed_s]

    def _known(self, section: int, uniform: Sequence[_Uniform]) -> Dict[_Uniform, Estimate]:
        """Return the time of a section, with concurrent branches if it has some."""
        known = {}
        for each in uniform:
            if section in each.divided:
                known[each] = self.side_by_side.of(section, each.threads)
            elif not each.divided and not each.is_whole:
                known[each] = self.in_turn.of(section, each.threads)
        return known

    def _time_changes(self, own: shortest_path.Times) -> shortest_path.Path:
        """Return the path that remains the best once the costs of its changes are known."""
        visits: Dict[Tuple[int, ...], int] = {}

        def enough(counts: Tuple[int, ...]) -> bool:
            return self._spent or visits.get(counts, 0) >= MOST_VISITS

        while True:
            if len(visits) >= MOST_PATHS or (visits and self._spent):
                self.unknown_s = max(self.times.change(*each).seconds for each in self.times.changes())
            cheapest = shortest_path.cheapest(own, self._switch)
            counts = self._without_doubtful(cheapest.counts)
            seconds = shortest_path.seconds_of(counts, own, self._switch)
            if seconds - cheapest.seconds > self._allowed_s(counts) and not enough(cheapest.counts):
                counts = cheapest.counts  # counts without a significant gain may still have one: measure again
            else:
                error_s = self._error_of_changes(counts)
                if error_s <= self._allowed_s(counts) or (enough(counts) and math.isfinite(error_s)):
                    return shortest_path.Path(counts, seconds)
            self._visit(counts, self._divided(counts), self.times)
            visits[counts] = visits.get(counts, 0) + 1

    def _allowed_s(self, counts: Sequence[int]) -> float:
        total_s = sum(self.times.of(section, count).seconds for section, count in enumerate(counts))
        return self.settings.tolerance * total_s

    def _error_of_changes(self, counts: Sequence[int]) -> float:
        """Return the error of all changes of a path; infinite if one was not measured."""
        used = [change for change in shortest_path.changes(counts) if change[0] != change[1]]
        return sum(Z * self.times.change(*change).error_s for change in used)

    def _switch(self, before: int, after: int) -> float:
        known = self.times.change(before, after)
        return known.seconds if math.isfinite(known.error_s) else self.unknown_s

    def _without_doubtful(self, counts: Tuple[int, ...]) -> Tuple[int, ...]:
        """Replace counts whose gain is not significant by those of a neighbour."""
        while True:
            least: Optional[Tuple[Estimate, List[int], int]] = None
            for run in _runs(counts):
                for other in {counts[run[0] - 1], counts[(run[-1] + 1) % len(counts)]}:
                    gain = self._gain(counts, run, other)
                    if gain.low_s <= 0 and (least is None or gain.seconds < least[0].seconds):
                        least = (gain, run, other)
            if least is None:
                return counts
            _, run, other = least
            counts = tuple(other if place in run else count for place, count in enumerate(counts))

    def _gain(self, counts: Sequence[int], run: Sequence[int], other: int) -> Estimate:
        """Return how much shorter a step is than with the count `other` in the sections `run`, including changes."""
        own, before, after = counts[run[0]], counts[run[0] - 1], counts[(run[-1] + 1) % len(counts)]
        gains = [difference(self.times.of(section, other), self.times.of(section, own)) for section in run]
        saved = [self._cost(*change) for change in ((before, other), (other, after))]
        spent = [self._cost(*change) for change in ((before, own), (own, after))]
        return difference(_total(gains + saved), _total(spent))

    def _cost(self, before: int, after: int) -> Estimate:
        """Return the cost of a change. For an unmeasured one, it is the assumed cost, without an error."""
        if before == after:
            return Estimate(0.0, 0.0)
        error_s = self.times.change(before, after).error_s
        return Estimate(max(0.0, self._switch(before, after)), error_s if math.isfinite(error_s) else 0.0)


def _total(estimates: Sequence[Estimate]) -> Estimate:
    """Return the sum of independent estimates."""
    error_s = math.sqrt(sum(each.error_s**2 for each in estimates))
    return Estimate(sum(each.seconds for each in estimates), error_s)


def _may_be_best(known: Dict[_Uniform, Estimate]) -> List[_Uniform]:
    """Return the settings that are not significantly worse than another one."""
    least_s = min(each.high_s for each in known.values())
    return [name for name, each in known.items() if each.low_s <= least_s]


def _runs(counts: Sequence[int]) -> List[List[int]]:
    """Return runs of sections with the same count; the first may begin at the end of the step before."""
    begins = [place for place in range(len(counts)) if counts[place - 1] != counts[place]]
    runs = []
    for begin, end in zip(begins, begins[1:] + [begins[0] + len(counts)] if begins else []):
        runs.append([place % len(counts) for place in range(begin, end)])
    return runs
