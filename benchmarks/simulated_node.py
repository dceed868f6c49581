"""A schedule of threads by section on a node with 64 cores that does not exist: `make bench-threads`.

Sections get faster and slower with threads by the universal scalability law (Gunther, 1993, "A simple capacity model of
massively parallel transaction systems"), each change of the count costs something, and times are as noisy as on nodes.
The search sees noisy times alone; it is judged by the true ones.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Sequence
from functools import partial
from statistics import median
from typing import NamedTuple

from hpcbench.node.dynamic import path
from hpcbench.node.dynamic.proof import prove
from hpcbench.node.dynamic.search import Settings, search

COUNTS = path.counts_up_to(64)
NODES = 200
WITHIN = 0.02
Counts = Sequence[int]


class Node:
    """Truth, by `times` and `switch_s`, and what a clock sees of it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.noise = self.random.uniform(0.01, 0.05)
        self.times = [self._section() for _ in range(self.random.randint(3, 24))]
        dearest_s = 10 ** self.random.uniform(math.log10(5e-6), math.log10(200e-6))
        self.switch_s = {
            (before, after): dearest_s * self.random.uniform(0.3, 1)
            for before in COUNTS
            for after in COUNTS
            if before != after
        }
        self.last = COUNTS[-1]

    def _section(self) -> dict[int, float]:
        """Wide ones scale; narrow ones are serial, or get slower; memory-bound ones are best somewhere between."""
        kind = self.random.choice(("wide", "narrow", "memory"))
        single_s = 10 ** self.random.uniform(*{"wide": (-2.5, -1), "narrow": (-4, -2.3), "memory": (-3, -1.5)}[kind])
        serial = self.random.uniform(*{"wide": (0.0, 0.03), "narrow": (0.3, 1.0), "memory": (0.02, 0.15)}[kind])
        crosstalk = 10 ** self.random.uniform(*{"wide": (-6, -4), "narrow": (-4, -2), "memory": (-4, -2.5)}[kind])
        return {n: single_s * (1 + serial * (n - 1) + crosstalk * n * (n - 1)) / n for n in COUNTS}

    def switch(self, before: int, after: int) -> float:
        return self.switch_s[before, after]

    def seconds(self, counts: Counts) -> float:
        return path.seconds_of(counts, self.times, self.switch)

    def time_step(self, counts: Counts, divided: Collection[int] = ()) -> list[float]:
        """What a clock says of each section; one in a hundred is disturbed."""
        seen = []
        for section, count in zip(self.times, counts, strict=True):
            change_s = 0.0 if count == self.last else self.switch(self.last, count)
            disturbed = self.random.uniform(1.5, 5) if self.random.random() < 0.01 else 1
            seen.append((section[count] + change_s) * self.random.lognormvariate(0, self.noise) * disturbed)
            self.last = count
        return seen

    def time_steps(self, counts: Counts, steps: int) -> float:
        """A step's, of a block that follows one step to settle; a sample of a few is enough of a long block."""
        self.time_step(counts)
        taken = min(steps, 5)
        return sum(sum(self.time_step(counts)) for _ in range(taken)) / taken


class Judged(NamedTuple):
    loss: float  # of the answer's true time against the best path's
    gain: float  # over the best fixed count, of the answer
    possible: float  # of the best path
    kept: bool  # whether the answer is a schedule
    effort: float  # time spent, in steps of the best fixed count
    steps: int


def judge(seed: int) -> Judged:
    node = Node(seed)
    best = path.cheapest(node.times, node.switch)
    fixed = path.best_fixed(node.times)
    found = search(node.time_step, len(node.times), COUNTS, Settings(seed=seed))
    answer, steps, spent_s = found.fixed.counts, found.steps, found.spent_s
    kept = False
    if found.dynamic.counts != found.fixed.counts:
        proof = prove(
            partial(node.time_steps, found.fixed.counts),
            partial(node.time_steps, found.dynamic.counts),
            found.dynamic.seconds,
        )
        steps, spent_s, kept = steps + proof.steps, spent_s + proof.spent_s, proof.certain
        answer = found.dynamic.counts if kept else answer
    took_s = node.seconds(answer)
    return Judged(
        loss=took_s / best.seconds - 1,
        gain=fixed.seconds / took_s,
        possible=fixed.seconds / best.seconds,
        kept=kept,
        effort=spent_s / fixed.seconds,
        steps=steps,
    )


def main() -> None:
    judged = [judge(seed) for seed in range(NODES)]
    losses = sorted(each.loss for each in judged)
    print(f"{NODES} simulated nodes of {COUNTS[-1]} cores, {len(COUNTS)} counts, 3 to 24 sections, noise 1 to 5 %")
    print(f"{'schedules kept, of those that gain more than 2 %':<60}", end="")
    worth = [each for each in judged if each.possible > 1 + WITHIN]
    print(f"{sum(each.kept for each in worth)} of {len(worth)}")
    print(f"{'true gain over the best fixed count, median (possible)':<60}", end="")
    print(f"{median(each.gain for each in worth):.3f} ({median(each.possible for each in worth):.3f})")
    print(f"{'above the best possible path: median, 95th percentile, most':<60}", end="")
    print(f"{median(losses):.2%}, {losses[int(0.95 * NODES)]:.2%}, {losses[-1]:.2%}")
    print(f"{'within 2 % of it':<60}{sum(loss <= WITHIN for loss in losses)} of {NODES}")
    slower = [1 - each.gain for each in judged if each.gain < 1]
    print(f"{'slower than the best fixed count':<60}{len(slower)} of {NODES}, by {max(slower, default=0):.2%} at most")
    print(f"{'steps, median and most':<60}", end="")
    print(f"{median(each.steps for each in judged):.0f}, {max(each.steps for each in judged)}")
    print(f"{'time, in steps of the best fixed count, median and most':<60}", end="")
    print(f"{median(each.effort for each in judged):.0f}, {max(each.effort for each in judged):.0f}")


if __name__ == "__main__":
    main()
