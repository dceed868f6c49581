"""A schedule of threads by section on a node with 64 cores that does not exist: `make bench-threads`.

Sections get faster and slower with threads by the universal scalability law (Gunther, 1993, "A simple capacity model of
massively parallel transaction systems"), each change of the count costs something, and times are as noisy as on nodes.
A third of them has two branches that can compute side by side, with half of the threads each, once both have woken up.
The search sees noisy times alone; it is judged by the true ones, and by those with inputs of other shapes.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Sequence
from functools import partial
from statistics import median
from typing import NamedTuple

from hpcbench.node.thread_schedule.search import shortest_path
from hpcbench.node.thread_schedule.search.confirmation import confirm
from hpcbench.node.thread_schedule.search.search import Settings, search

COUNTS = shortest_path.counts_up_to(64)
NODES = 200
BUDGETS_S = (10.0, 30.0)  # for the search, and for the proof: what a case and find_schedule have if nobody sets more
WITHIN = 0.02
SHAPES = (4.0, 0.25)  # with so much parallel work for each section, what a schedule still gains is looked at, too
Counts = Sequence[int]


class Section(NamedTuple):
    """By the universal scalability law."""

    single_s: float
    serial: float
    crosstalk: float

    def times(self, work: float) -> dict[int, float]:
        """By count, where what is done in parallel is `work` times as much."""
        return {n: self.single_s * (self._parallel(n) * work + self._overhead(n)) for n in COUNTS}

    def _parallel(self, count: int) -> float:
        return (1 - self.serial) / count

    def _overhead(self, count: int) -> float:
        return self.serial + self.crosstalk * (count - 1)


class Node:
    """Truth, by `times` and `switch_s`, and what a clock sees of it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.noise = self.random.uniform(0.01, 0.05)
        self.sections = [self._section() for _ in range(self.random.randint(3, 24))]
        self.branches = {
            section: (self.random.uniform(0.5, 0.7), self.random.uniform(20e-6, 100e-6))
            for section in range(len(self.sections))
            if self.random.random() < 1 / 3
        }
        self.put_work(1.0)
        dearest_s = 10 ** self.random.uniform(math.log10(5e-6), math.log10(200e-6))
        self.switch_s = {
            (before, after): dearest_s * self.random.uniform(0.3, 1)
            for before in COUNTS
            for after in COUNTS
            if before != after
        }
        self.last = COUNTS[-1]
        self.steps, self.spent_s = 0, 0.0

    def put_work(self, work: float) -> None:
        """Let steps be those with inputs of another shape. Of two branches, the longer one has half of the work or
        more, and both have to wake up."""
        self.times = [section.times(work) for section in self.sections]
        self.side_by_side = {
            section: {count: part * self.times[section][count // 2] + wake_s for count in COUNTS if count > 1}
            for section, (part, wake_s) in self.branches.items()
        }

    def _section(self) -> Section:
        """Wide ones scale; narrow ones are serial, or get slower; memory-bound ones are best somewhere between."""
        kind = self.random.choice(("wide", "narrow", "memory"))
        single_s = 10 ** self.random.uniform(*{"wide": (-2.5, -1), "narrow": (-4, -2.3), "memory": (-3, -1.5)}[kind])
        serial = self.random.uniform(*{"wide": (0.0, 0.03), "narrow": (0.3, 1.0), "memory": (0.02, 0.15)}[kind])
        crosstalk = 10 ** self.random.uniform(*{"wide": (-6, -4), "narrow": (-4, -2), "memory": (-4, -2.5)}[kind])
        return Section(single_s, serial, crosstalk)

    @property
    def best_times(self) -> list[dict[int, float]]:
        """Of each section under each count, its branches in turn or side by side, whatever is faster."""
        return [
            {
                count: min(time_s, self.side_by_side.get(section, {}).get(count, time_s))
                for count, time_s in times.items()
            }
            for section, times in enumerate(self.times)
        ]

    def switch(self, before: int, after: int) -> float:
        return self.switch_s[before, after]

    def seconds(self, counts: Counts, divided: Collection[int]) -> float:
        return shortest_path.seconds_of(counts, self._times(divided), self.switch)

    def _times(self, divided: Collection[int]) -> list[dict[int, float]]:
        return [self.side_by_side[section] if section in divided else own for section, own in enumerate(self.times)]

    def time_step(self, counts: Counts, divided: Collection[int] = ()) -> list[float]:
        """What a clock says of each section; one in a hundred is with_interference."""
        seen = []
        for section, count in zip(self._times(divided), counts, strict=True):
            change_s = 0.0 if count == self.last else self.switch(self.last, count)
            with_interference = self.random.uniform(1.5, 5) if self.random.random() < 0.01 else 1
            seen.append((section[count] + change_s) * self.random.lognormvariate(0, self.noise) * with_interference)
            self.last = count
        self._count(1, sum(seen))
        return seen

    def _count(self, steps: int, spent_s: float) -> None:
        self.steps, self.spent_s = self.steps + steps, self.spent_s + spent_s

    def time_whole(self, counts: Counts, divided: Collection[int] = ()) -> list[float]:
        return [sum(self.time_step(list(counts) * len(self.times)))]

    def time_steps(self, counts: Counts, divided: Collection[int], steps: int) -> float:
        """A step's, of a block that follows one step to settle; a sample of a few is enough of a long block."""
        self.time_step(counts, divided)
        taken = min(steps, 5)
        step_s = sum(sum(self.time_step(counts, divided)) for _ in range(taken)) / taken
        self._count(steps - taken, (steps - taken) * step_s)
        return step_s

    def elsewhere(self, work: float, counts: Counts, divided: Collection[int]) -> Elsewhere:
        self.put_work(work)
        fixed_s, best_s = (
            shortest_path.best_fixed(self.times).seconds,
            shortest_path.cheapest(self.best_times, self.switch).seconds,
        )
        return Elsewhere(fixed_s / self.seconds(counts, divided), fixed_s / best_s)


class Elsewhere(NamedTuple):
    """With inputs of another shape, over the best fixed count there."""

    gain: float  # of the same answer
    possible: float


class Judged(NamedTuple):
    loss: float  # of the answer's true time against the best path's
    gain: float  # over the best fixed count, of the answer
    possible: float  # of the best path
    kept: bool  # whether the answer is a schedule
    effort: float  # time spent, in steps of the best fixed count
    steps: int
    elsewhere: list[Elsewhere]  # by shape


def judge(seed: int, budget_s: float) -> Judged:
    node = Node(seed)
    best = shortest_path.cheapest(node.best_times, node.switch)
    fixed = shortest_path.best_fixed(node.times)
    settings, ways = Settings(seed=seed, budget_s=budget_s), (node.side_by_side, node.time_whole)
    found = search(node.time_step, len(node.times), COUNTS, settings, *ways)
    fixed_counts, dynamic = (found.fixed.counts, frozenset[int]()), (found.dynamic.counts, found.divided)
    answer, kept = fixed_counts, False
    if found.is_by_section:
        proof = confirm(
            partial(node.time_steps, *fixed_counts),
            partial(node.time_steps, *dynamic),
            found.dynamic.seconds,
            budget_s,
        )
        kept = proof.certain
        answer = dynamic if kept else answer
    took_s = node.seconds(*answer)
    return Judged(
        loss=took_s / best.seconds - 1,
        gain=fixed.seconds / took_s,
        possible=fixed.seconds / best.seconds,
        kept=kept,
        effort=node.spent_s / fixed.seconds,
        steps=node.steps,
        elsewhere=[node.elsewhere(work, *answer) for work in SHAPES],
    )


def main() -> None:
    print(f"{NODES} simulated nodes of {COUNTS[-1]} cores, {len(COUNTS)} counts, 3 to 24 sections, noise 1 to 5 %")
    for budget_s in BUDGETS_S:
        print(f"\n{budget_s:g} s for the search, and as much for the proof")
        tell([judge(seed, budget_s) for seed in range(NODES)])


def tell(judged: Sequence[Judged]) -> None:
    losses = sorted(each.loss for each in judged)
    print(f"{'schedules kept, of those that gain more than 2 %':<60}", end="")
    worth = [each for each in judged if each.possible > 1 + WITHIN]
    print(f"{sum(each.kept for each in worth)} of {len(worth)}")
    print(f"{'true gain over the best fixed count, median (possible)':<60}", end="")
    print(f"{median(each.gain for each in worth):.3f} ({median(each.possible for each in worth):.3f})")
    kept = [each for each in worth if each.kept]
    for place, work in enumerate(SHAPES):
        tell_shape(work, [each.elsewhere[place] for each in kept], [each.gain for each in kept])
    print(f"{'above the best possible path: median, 95th percentile, most':<60}", end="")
    print(f"{median(losses):.2%}, {losses[int(0.95 * NODES)]:.2%}, {losses[-1]:.2%}")
    print(f"{'within 2 % of it':<60}{sum(loss <= WITHIN for loss in losses)} of {NODES}")
    slower = [1 - each.gain for each in judged if each.gain < 1]
    print(f"{'slower than the best fixed count':<60}{len(slower)} of {NODES}, by {max(slower, default=0):.2%} at most")
    print(f"{'steps, median and most':<60}", end="")
    print(f"{median(each.steps for each in judged):.0f}, {max(each.steps for each in judged)}")
    print(f"{'time, in steps of the best fixed count, median and most':<60}", end="")
    print(f"{median(each.effort for each in judged):.0f}, {max(each.effort for each in judged):.0f}")


def tell_shape(work: float, there: Sequence[Elsewhere], own: Sequence[float]) -> None:
    """How much of schedules' own gains stays."""
    stays = median((each.gain - 1) / (gain - 1) for each, gain in zip(there, own, strict=True))
    slower = [1 - each.gain for each in there if each.gain < 1]
    print(f"{f'the same with {work:g} times the parallel work (possible)':<60}", end="")
    print(f"{median(each.gain for each in there):.3f} ({median(each.possible for each in there):.3f})", end="")
    print(f", {stays:.0%} of it; {len(slower)} of {len(there)} slower, by {max(slower, default=0):.2%} at most")


if __name__ == "__main__":
    main()
