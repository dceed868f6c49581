"""Which settings to look at where there are too many to measure all: a surrogate proposes, neighbours follow.

The surrogate is Optuna's tree-structured Parzen estimator (Bergstra et al., 2011, "Algorithms for hyper-parameter
optimization", NeurIPS 24), with dependences between parameters (Falkner et al., 2018, "BOHB", ICML 35). It forgets that
the last step to a best setting is often a single parameter: so at the end the neighbours of the best are measured, too.
"""

from __future__ import annotations

import importlib.util
import math
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hpcbench.errors import UserError
from hpcbench.tuning.ask_tell import Notebook, Search
from hpcbench.tuning.block_model import Effects
from hpcbench.tuning.fidelity import Stage

ALL = 64  # settings that are all measured
BATCH = 8
_AT_RANDOM = 16
_LOOKS_A_LEVEL = 6  # for each value of each parameter
_TRIES = 100  # for a batch of proposals that were not looked at yet
_STEPS = 3  # from neighbour to neighbour

Levels = tuple[Any, ...]


@dataclass(frozen=True)
class Space:
    """`points` has the place of each setting on every axis; `sizes` how many values each axis has."""

    points: Sequence[tuple[int, ...]]
    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]  # whether the values of the axis are numbers, in their order

    @classmethod
    def of(cls, settings: Sequence[Mapping[str, Any]]) -> Space:
        """The space of settings that all have the same parameters."""
        axes = [_levels([setting[name] for setting in settings]) for name in settings[0]]
        points = [
            tuple(levels.index(value) for levels, value in zip(axes, setting.values(), strict=True))
            for setting in settings
        ]
        ordered = tuple(all(_is_number(value) for value in levels if value is not None) for levels in axes)
        return cls(points, tuple(map(len, axes)), ordered)

    @cached_property
    def numbers(self) -> dict[tuple[int, ...], int]:
        """The setting at a point."""
        return {point: number for number, point in enumerate(self.points)}

    def neighbours(self, setting: int) -> list[int]:
        """The settings that differ from this one in one parameter; of numbers, those next to its value."""
        here = self.points[setting]
        found = []
        for axis, size in enumerate(self.sizes):
            places = (here[axis] - 1, here[axis] + 1) if self.ordered[axis] else range(size)
            points = [(*here[:axis], place, *here[axis + 1 :]) for place in places if place != here[axis]]
            found += [self.numbers[point] for point in points if point in self.numbers]
        return found


def _levels(values: Sequence[Any]) -> Levels:
    """The values, each once: numbers in their order, after what is not set; else as they come."""
    known: list[Any] = []
    for value in values:
        if value not in known:
            known.append(value)
    if all(_is_number(value) for value in known if value is not None):
        known.sort(key=lambda value: (value is not None, value or 0))
    return tuple(known)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class Surrogate:
    """Looks at some settings of a large space."""

    space: Space
    seed: int

    @property
    def most(self) -> int:
        """How many it looks at before it turns to the neighbours of the best."""
        return min(len(self.space.points), max(ALL, _LOOKS_A_LEVEL * sum(self.space.sizes)))

    @property
    def most_measurements(self) -> int:
        """What all of its looks may take, with the default in each block."""
        around = 2 + sum(
            2 if ordered else size for size, ordered in zip(self.space.sizes, self.space.ordered, strict=True)
        )
        return self.most + BATCH + math.ceil(self.most / BATCH) + _STEPS * around

    def look(self, notebook: Notebook, default: int) -> Search[None]:
        """Measure some settings briefly, the default in every block, to compare the blocks by."""
        generator = random.Random(self.seed)  # noqa: S311 - a choice of settings, not a secret
        looked: set[int] = {default}
        while len(looked) < self.most:
            proposed: list[int] = []
            if len(looked) > _AT_RANDOM and notebook.settings:
                proposed = self._proposed(notebook.effects(), looked)
            rest = [each for each in range(len(self.space.points)) if each not in looked and each not in proposed]
            proposed += generator.sample(rest, min(BATCH - len(proposed), len(rest)))  # each batch has the default, too
            looked.update(proposed)
            yield from notebook.measure({*proposed, default}, Stage.SHORT)
        yield from self._neighbours(notebook, default, looked)

    def _proposed(self, effects: Effects, looked: set[int]) -> list[int]:
        """Settings that were not looked at, of which the surrogate hopes most."""
        import optuna  # takes half a second, and few spaces are so large

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=self.seed + len(looked), multivariate=True, constant_liar=True)
        study = optuna.create_study(sampler=sampler)
        axes = {str(axis): self._distribution(axis) for axis in range(len(self.space.sizes))}
        for looked_at, cost in effects.costs.items():
            point = dict(zip(axes, self.space.points[looked_at], strict=True))
            study.add_trial(optuna.trial.create_trial(params=point, distributions=axes, value=cost))
        found: list[int] = []
        for _ in range(_TRIES):
            setting = self.space.numbers.get(tuple(study.ask(axes).params.values()))
            if setting is not None and setting not in looked and setting not in found:
                found.append(setting)
            if len(found) == BATCH:
                break
        return found

    def _distribution(self, axis: int) -> Any:
        from optuna.distributions import CategoricalDistribution, IntDistribution

        size = self.space.sizes[axis]
        return IntDistribution(0, size - 1) if self.space.ordered[axis] else CategoricalDistribution(range(size))

    def _neighbours(self, notebook: Notebook, default: int, looked: set[int]) -> Search[None]:
        """From the best, go on in the direction in which single parameters lead."""
        for _ in range(_STEPS):
            if not notebook.settings:
                return
            best = notebook.effects().order()[0]
            new = set(self.space.neighbours(best)) - looked
            if not new:
                return
            looked |= new
            yield from notebook.measure({*new, best, default}, Stage.SHORT)


def check_there() -> None:
    """Raises UserError where Optuna is not installed."""
    if importlib.util.find_spec("optuna") is None:
        raise UserError(
            f"more than {ALL} settings are searched with Optuna, which is not installed",
            where=sys.executable,
            hint="pip install optuna, or a smaller matrix",
        )
