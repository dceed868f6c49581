"""What a search asks for and is told: blocks of measurements, each setting once in a block, in random order.

A search is a generator: it yields a block, and is sent what became of it. It knows no clock, no disk and no cluster, so
that a simulation can stand where a machine does.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Generator, Sequence
from typing import NamedTuple, TypeVar

from hpcbench.tuning.block_model import Effects, Measured, fit
from hpcbench.tuning.fidelity import Stage


class Block(NamedTuple):
    """Settings, by their numbers, to be measured one after another in this order."""

    settings: tuple[int, ...]
    stage: Stage


class Outcome(NamedTuple):
    """Of one measurement: what a unit of work cost, above 0, or None where it did not complete."""

    setting: int
    cost: float | None


Result = TypeVar("Result")
Search = Generator[Block, Sequence[Outcome], Result]
Logs = dict[int, float]


class Notebook:
    """What was measured so far, by stage and block. Settings that did not complete are out."""

    def __init__(self, seed: int) -> None:
        self.failed: set[int] = set()
        self._random = random.Random(seed)  # noqa: S311 - an order, not a secret
        self._measured: list[tuple[Stage, Measured]] = []
        self._blocks = 0

    def continued(self) -> Notebook:
        """One that knows what this one knows, and leaves it as it is."""
        other = Notebook(0)
        other.failed, other._measured, other._blocks = set(self.failed), list(self._measured), self._blocks
        other._random.setstate(self._random.getstate())
        return other

    def measure(self, settings: Collection[int], stage: Stage) -> Search[Logs]:
        """Measure these once more, but for those that failed before; return the logarithms of what they cost."""
        chosen = sorted(set(settings) - self.failed)
        self._random.shuffle(chosen)
        if not chosen:
            return {}
        logs: Logs = {}
        for outcome in (yield Block(tuple(chosen), stage)):
            if outcome.cost is None or not 0 < outcome.cost < math.inf:
                self.failed.add(outcome.setting)
            else:
                logs[outcome.setting] = math.log(outcome.cost)
        self._measured += [(stage, Measured(setting, self._blocks, log)) for setting, log in logs.items()]
        self._blocks += 1
        return logs

    @property
    def settings(self) -> list[int]:
        """The settings that were measured, and did not fail."""
        return sorted({each.setting for _, each in self._measured} - self.failed)

    def measured(self, stage: Stage) -> list[Measured]:
        """What completed at this stage, but for settings that failed later."""
        return [each for of, each in self._measured if of is stage and each.setting not in self.failed]

    def times(self, setting: int, stage: Stage) -> int:
        """How often it completed at this stage."""
        return sum(each.setting == setting for each in self.measured(stage))

    def effects(self, stage: Stage | None = None) -> Effects:
        """What they cost, by all measurements or those of one stage. Raises ValueError where there is none."""
        return fit([each for of, each in self._measured if each.setting not in self.failed and stage in (None, of)])
