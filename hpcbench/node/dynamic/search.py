"""Which count of threads each section shall have: measured just as far as it matters, by a step that can be timed.

Steps under one count everywhere tell what sections take, and are interleaved, so that a disturbance falls on all counts
alike. What a change costs is measured where it would be used: the path that is the best as far as anyone knows is run,
and what its changes cost is learned, until the best path has no change that was not measured (Dellin and
Srinivasa, 2016, "A unifying formalism for shortest path problems with expensive edge evaluations via lazy best-first
search over edge selectors", ICAPS). Unknown changes count as free until then, so that none is overlooked.
"""

import math
import random
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import path
from .estimates import Estimate, SectionTimes, Z, less

TimeStep = Callable[[Sequence[int]], Sequence[float]]  # counts by section, to seconds by section

STEPS_OF_A_VISIT = 3  # after one that does not count, because it follows a step with other counts
FEWEST_VISITS = 3  # of a count
MOST_VISITS = 100  # of a count, and of a path
MOST_PATHS = 16  # that are tried; after them, what is unknown counts as dear as the dearest known change


class Settings(NamedTuple):
    tolerance: float = 0.005  # of the step: what all errors of one count may add up to where it could be chosen
    budget_s: float = math.inf  # of steps
    seed: int = 0


_USUAL = Settings()


class Found(NamedTuple):
    """Counts for every section, and what they are expected to take; `fixed` is the best single count."""

    dynamic: path.Path
    fixed: path.Path
    steps: int
    spent_s: float
    times: SectionTimes


def search(time_step: TimeStep, sections: int, counts: Sequence[int], settings: Settings = _USUAL) -> Found:
    """Measure as little as it takes to choose."""
    return _Search(time_step, sections, counts, settings).run()


class _Search:
    def __init__(self, time_step: TimeStep, sections: int, counts: Sequence[int], settings: Settings) -> None:
        self.time_step, self.counts, self.settings = time_step, list(counts), settings
        self.times = SectionTimes(sections)
        self.steps, self.spent_s = 0, 0.0
        self.unknown_s = 0.0  # what a change costs that nobody has measured

    def run(self) -> Found:
        self._time_counts()
        own = [self.times.seconds(section) for section in range(self.times.sections)]
        fixed = path.best_fixed(own)
        paths = [fixed]
        if len(self.counts) > 1 and self.times.sections > 1:
            paths.append(self._time_changes(own))
        dynamic = min(paths, key=lambda each: each.seconds)
        return Found(dynamic, fixed, self.steps, self.spent_s, self.times)

    def _visit(self, counts: Sequence[int]) -> None:
        """Take a few steps with these counts; the first pays for what the last counts have left."""
        for turn in range(1 + STEPS_OF_A_VISIT):
            times_s = self.time_step(counts)
            self.steps += 1
            self.spent_s += sum(times_s)
            if turn:
                self.times.add(counts, times_s)

    @property
    def _spent(self) -> bool:
        return self.spent_s >= self.settings.budget_s

    def _time_counts(self) -> None:
        order = random.Random(self.settings.seed)  # noqa: S311  it orders visits
        wanted = list(self.counts)
        visits = 0
        while wanted and visits < MOST_VISITS and not (visits >= FEWEST_VISITS and self._spent):
            order.shuffle(wanted)
            for count in wanted:
                self._visit([count] * self.times.sections)
            visits += 1
            if visits >= FEWEST_VISITS:
                wanted = self._unsure()

    def _unsure(self) -> List[int]:
        """Counts whose errors matter: in sections, or as the one of the whole step, where they may be the best."""
        by_section = [
            {count: self.times.of(section, count) for count in self.counts} for section in range(self.times.sections)
        ]
        totals = {count: _total([known[count] for known in by_section]) for count in self.counts}
        allowed_s = self.settings.tolerance * min(total.seconds for total in totals.values())
        unsure_s = {count: Z * totals[count].error_s for count in _may_be_best(totals)}
        of_sections = dict.fromkeys(self.counts, 0.0)
        for known in by_section:
            for count in _may_be_best(known):
                of_sections[count] += Z * known[count].error_s
        return [count for count in self.counts if max(of_sections[count], unsure_s.get(count, 0.0)) > allowed_s]

    def _time_changes(self, own: path.Times) -> path.Path:
        """The path that stays the best when what its changes cost is known."""
        visits: Dict[Tuple[int, ...], int] = {}
        while True:
            if len(visits) >= MOST_PATHS or (visits and self._spent):
                self.unknown_s = max(self.times.change(*each).seconds for each in self.times.changes())
            counts = self._without_doubtful(path.cheapest(own, self._switch).counts)
            error_s = self._error_of_changes(counts)
            enough = self._spent or visits.get(counts, 0) >= MOST_VISITS
            if error_s <= self._allowed_s(counts) or (enough and math.isfinite(error_s)):
                return path.Path(counts, path.seconds_of(counts, own, self._switch))
            self._visit(counts)
            visits[counts] = visits.get(counts, 0) + 1

    def _allowed_s(self, counts: Sequence[int]) -> float:
        total_s = sum(self.times.of(section, count).seconds for section, count in enumerate(counts))
        return self.settings.tolerance * total_s

    def _error_of_changes(self, counts: Sequence[int]) -> float:
        """By what all changes of a path may be off; infinite where one of them was not measured."""
        used = [change for change in path.changes(counts) if change[0] != change[1]]
        return sum(Z * self.times.change(*change).error_s for change in used)

    def _switch(self, before: int, after: int) -> float:
        known = self.times.change(before, after)
        return known.seconds if math.isfinite(known.error_s) else self.unknown_s

    def _without_doubtful(self, counts: Tuple[int, ...]) -> Tuple[int, ...]:
        """A change must be worth it surely: runs of sections whose gain could be chance take a neighbour's count."""
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
        """How much shorter a step is than with another count for these sections, the changes around them included."""
        own, before, after = counts[run[0]], counts[run[0] - 1], counts[(run[-1] + 1) % len(counts)]
        gains = [less(self.times.of(section, other), self.times.of(section, own)) for section in run]
        saved = [self._cost(*change) for change in ((before, other), (other, after))]
        spent = [self._cost(*change) for change in ((before, own), (own, after))]
        return less(_total(gains + saved), _total(spent))

    def _cost(self, before: int, after: int) -> Estimate:
        """Of a change that nobody has measured: as the path takes it, for it is going to be measured."""
        if before == after:
            return Estimate(0.0, 0.0)
        error_s = self.times.change(before, after).error_s
        return Estimate(max(0.0, self._switch(before, after)), error_s if math.isfinite(error_s) else 0.0)


def _total(estimates: Sequence[Estimate]) -> Estimate:
    """The sum of independent estimates."""
    error_s = math.sqrt(sum(each.error_s**2 for each in estimates))
    return Estimate(sum(each.seconds for each in estimates), error_s)


def _may_be_best(known: Dict[int, Estimate]) -> List[int]:
    """Counts that are not certainly worse than another one."""
    least_s = min(each.high_s for each in known.values())
    return [count for count, each in known.items() if each.low_s <= least_s]


def _runs(counts: Sequence[int]) -> List[List[int]]:
    """Sections one after another with the same count; the first may begin at the end of the step before."""
    begins = [place for place in range(len(counts)) if counts[place - 1] != counts[place]]
    runs = []
    for begin, end in zip(begins, begins[1:] + [begins[0] + len(counts)] if begins else []):
        runs.append([place % len(counts) for place in range(begin, end)])
    return runs
