"""The requests of a search: blocks of measurements, each configuration once in a block, in random order.

A search is a generator: it yields a block and receives the outcomes. It uses no clock, disk or cluster, so that a
simulated machine can replace a real one.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Generator, Sequence
from typing import NamedTuple, TypeVar

from hpcbench.tuning.block_model import Effects, Measured, fit
from hpcbench.tuning.fidelity import Stage


class Block(NamedTuple):
    """Configurations, by index, to measure one after another in this order."""

    configurations: tuple[int, ...]
    stage: Stage


class Outcome(NamedTuple):
    """One measurement: the cost of a unit of work, above 0, or None if it did not complete."""

    configuration: int
    cost: float | None


Result = TypeVar("Result")
Search = Generator[Block, Sequence[Outcome], Result]
Logs = dict[int, float]


class Trials:
    """The measurements of a search so far, by stage and block. Configurations that failed are excluded."""

    def __init__(self, seed: int) -> None:
        self.failed: set[int] = set()
        self._random = random.Random(seed)  # noqa: S311 - an order, not a secret
        self._measured: list[tuple[Stage, Measured]] = []
        self._blocks = 0

    def continued(self) -> Trials:
        """Return a copy, whose further measurements do not change the original."""
        other = Trials(0)
        other.failed, other._measured, other._blocks = set(self.failed), list(self._measured), self._blocks
        other._random.setstate(self._random.getstate())
        return other

    def measure(self, configurations: Collection[int], stage: Stage) -> Search[Logs]:
        """Measure these configurations once more, except those that failed; return the logarithms of their costs."""
        chosen = sorted(set(configurations) - self.failed)
        self._random.shuffle(chosen)
        if not chosen:
            return {}
        logs: Logs = {}
        for outcome in (yield Block(tuple(chosen), stage)):
            if outcome.cost is None or not 0 < outcome.cost < math.inf:
                self.failed.add(outcome.configuration)
            else:
                logs[outcome.configuration] = math.log(outcome.cost)
        self._measured += [(stage, Measured(configuration, self._blocks, log)) for configuration, log in logs.items()]
        self._blocks += 1
        return logs

    @property
    def configurations(self) -> list[int]:
        """Return the configurations that were measured and have not failed."""
        return sorted({each.configuration for _, each in self._measured} - self.failed)

    def measured(self, stage: Stage) -> list[Measured]:
        """Return the measurements at this stage, without configurations that failed later."""
        return [each for of, each in self._measured if of is stage and each.configuration not in self.failed]

    def times(self, configuration: int, stage: Stage) -> int:
        """Return how often a configuration completed at this stage."""
        return sum(each.configuration == configuration for each in self.measured(stage))

    def effects(self, stage: Stage | None = None) -> Effects:
        """Return the effects by all measurements, or by those of one stage. Raise ValueError without measurements."""
        return fit(
            [each for of, each in self._measured if each.configuration not in self.failed and stage in (None, of)]
        )
