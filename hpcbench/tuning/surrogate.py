"""Choose configurations if there are too many to measure all: a surrogate model proposes, neighbours follow.

The surrogate is Optuna's tree-structured Parzen estimator (Bergstra et al., 2011, "Algorithms for hyper-parameter
optimization", NeurIPS 24), with dependences between parameters (Falkner et al., 2018, "BOHB", ICML 35). The last step
to a best configuration is often a single parameter, so in the end the neighbours of the best are measured, too.
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
from hpcbench.tuning.ask_tell import Search, Trials
from hpcbench.tuning.block_model import Effects
from hpcbench.tuning.fidelity import Stage
from hpcbench.util.extras import install_hint

MAX_UNSAMPLED = 64  # configurations that are all measured
BATCH = 8
_AT_RANDOM = 16
_SAMPLES_PER_LEVEL = 6  # of each parameter
_TRIES = 100  # for a batch of new proposals
_STEPS = 3  # from neighbour to neighbour

Levels = tuple[Any, ...]


@dataclass(frozen=True)
class Space:
    """`points` are the indices of each configuration on every axis; `sizes` the numbers of values of the axes."""

    points: Sequence[tuple[int, ...]]
    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]  # whether the values of the axis are numbers, in their order

    @classmethod
    def of(cls, configurations: Sequence[Mapping[str, Any]]) -> Space:
        """Return the space of configurations that all have the same parameters."""
        axes = [_levels([configuration[name] for configuration in configurations]) for name in configurations[0]]
        points = [
            tuple(levels.index(value) for levels, value in zip(axes, configuration.values(), strict=True))
            for configuration in configurations
        ]
        ordered = tuple(all(_is_number(value) for value in levels if value is not None) for levels in axes)
        return cls(points, tuple(map(len, axes)), ordered)

    @cached_property
    def numbers(self) -> dict[tuple[int, ...], int]:
        """Return the configuration at each point."""
        return {point: number for number, point in enumerate(self.points)}

    def neighbours(self, configuration: int) -> list[int]:
        """Return the configurations that differ in one parameter; for numbers, those next to its value."""
        here = self.points[configuration]
        found = []
        for axis, size in enumerate(self.sizes):
            places = (here[axis] - 1, here[axis] + 1) if self.ordered[axis] else range(size)
            points = [(*here[:axis], place, *here[axis + 1 :]) for place in places if place != here[axis]]
            found += [self.numbers[point] for point in points if point in self.numbers]
        return found


def _levels(values: Sequence[Any]) -> Levels:
    """Return the distinct values: numbers ascending after unset, others in order of appearance."""
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
    """Sample the configurations of a large space."""

    space: Space
    seed: int

    @property
    def most(self) -> int:
        """Return the number of configurations to sample before the neighbours of the best."""
        return min(len(self.space.points), max(MAX_UNSAMPLED, _SAMPLES_PER_LEVEL * sum(self.space.sizes)))

    @property
    def max_measurements(self) -> int:
        """Return the maximum number of measurements, with the default in each block."""
        around = 2 + sum(
            2 if ordered else size for size, ordered in zip(self.space.sizes, self.space.ordered, strict=True)
        )
        return self.most + BATCH + math.ceil(self.most / BATCH) + _STEPS * around

    def sample(self, trials: Trials, default: int) -> Search[None]:
        """Measure some configurations briefly, with the default in every block, by which blocks are compared."""
        generator = random.Random(self.seed)  # noqa: S311 - a choice of configurations, not a secret
        sampled: set[int] = {default}
        while len(sampled) < self.most:
            proposed: list[int] = []
            if len(sampled) > _AT_RANDOM and trials.configurations:
                proposed = self._proposed(trials.effects(), sampled)
            rest = [each for each in range(len(self.space.points)) if each not in sampled and each not in proposed]
            proposed += generator.sample(rest, min(BATCH - len(proposed), len(rest)))  # each batch has the default, too
            sampled.update(proposed)
            yield from trials.measure({*proposed, default}, Stage.SHORT)
        yield from self._neighbours(trials, default, sampled)

    def _proposed(self, effects: Effects, sampled: set[int]) -> list[int]:
        """Return configurations that were not sampled, which the surrogate expects to be best."""
        import optuna  # imported late: it takes half a second, and few spaces need it

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=self.seed + len(sampled), multivariate=True, constant_liar=True)
        study = optuna.create_study(sampler=sampler)
        axes = {str(axis): self._distribution(axis) for axis in range(len(self.space.sizes))}
        for configuration, cost in effects.costs.items():
            point = dict(zip(axes, self.space.points[configuration], strict=True))
            study.add_trial(optuna.trial.create_trial(params=point, distributions=axes, value=cost))
        found: list[int] = []
        for _ in range(_TRIES):
            proposal = self.space.numbers.get(tuple(study.ask(axes).params.values()))
            if proposal is not None and proposal not in sampled and proposal not in found:
                found.append(proposal)
            if len(found) == BATCH:
                break
        return found

    def _distribution(self, axis: int) -> Any:
        from optuna.distributions import CategoricalDistribution, IntDistribution

        size = self.space.sizes[axis]
        return IntDistribution(0, size - 1) if self.space.ordered[axis] else CategoricalDistribution(range(size))

    def _neighbours(self, trials: Trials, default: int, sampled: set[int]) -> Search[None]:
        """Measure the neighbours of the best, and again from the new best, for a few steps."""
        for _ in range(_STEPS):
            if not trials.configurations:
                return
            best = trials.effects().order()[0]
            new = set(self.space.neighbours(best)) - sampled
            if not new:
                return
            sampled |= new
            yield from trials.measure({*new, best, default}, Stage.SHORT)


def check_installed() -> None:
    """Raise UserError if Optuna is not installed."""
    if importlib.util.find_spec("optuna") is None:
        raise UserError(
            f"more than {MAX_UNSAMPLED} configurations are searched with Optuna, which is not installed",
            where=sys.executable,
            hint=f"{install_hint('tune')}\nor use a smaller matrix",
        )
