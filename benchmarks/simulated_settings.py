"""A made-up machine on which settings cost what a model says, with noise: the truth to hold a search against."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hpcbench.tuning.ask_tell import Block, Outcome, Result, Search, Trials
from hpcbench.tuning.exhaustive import whole_grid
from hpcbench.tuning.fidelity import Stage
from hpcbench.tuning.search import SearchResult, search
from hpcbench.tuning.surrogate import MAX_UNSAMPLED, Space, Surrogate

# What measurements take, as a repetition of a small network does: most of it is starting the framework.
SECONDS = {Stage.SHORT: 4.5, Stage.MEDIUM: 6.5, Stage.FULL: 10.0}
_SHORTER = 1.5  # times as noisy is a short measurement
_UNEQUAL = 0.5  # of the logarithm of how noisy settings are: one in forty is over 2.7 times as noisy as usual
_DISTURBED, _BY = 0.03, 0.3  # so many measurements are slower, by about so much
_DRIFT = 0.1  # of the machine from block to block

Point = tuple[int, ...]


@dataclass(frozen=True)
class Machine:
    """The true logarithm of what each setting costs; `noises` are the standard deviations of full measurements'."""

    points: Sequence[Point]
    costs: Sequence[float]
    default: int
    noises: Sequence[float]

    @property
    def best(self) -> float:
        return min(self.costs)


def made_up(seed: int, sizes: Sequence[int], noise: float) -> Machine:
    """Two parameters with an optimum somewhere, such as threads, others with an effect of each value, and some pairs
    that depend on each other. The default is the best setting in one machine of four. Some settings are noisier than
    others; `noise` is the usual one."""
    generator = random.Random(seed)
    effects = [[generator.gauss(0, 0.15) for _ in range(size)] for size in sizes]
    for axis, size in enumerate(sizes[:2]):
        optimum, slope = generator.uniform(0, size - 1), generator.uniform(0.05, 0.25)
        effects[axis] = [slope * abs(place - optimum) for place in range(size)]
    pairs: dict[tuple[int, int, int, int], float] = {}
    for one, other in itertools.combinations(range(len(sizes)), 2):
        if generator.random() < 0.4:
            for places in itertools.product(range(sizes[one]), range(sizes[other])):
                pairs[(one, other, *places)] = generator.gauss(0, 0.05)
    points = list(itertools.product(*map(range, sizes)))
    costs = [_cost(point, effects, pairs) for point in points]
    default = generator.randrange(len(points)) if seed % 4 else costs.index(min(costs))
    noises = [noise * math.exp(generator.gauss(0, _UNEQUAL)) for _ in points]
    return Machine(points, costs, default, noises)


def _cost(point: Point, effects: Sequence[Sequence[float]], pairs: dict[tuple[int, int, int, int], float]) -> float:
    alone = sum(effects[axis][place] for axis, place in enumerate(point))
    axes = itertools.combinations(range(len(point)), 2)
    return alone + sum(pairs.get((one, other, point[one], point[other]), 0.0) for one, other in axes)


class Trial(NamedTuple):
    """How a search did: what its answer costs over the best, and what the choice of the full grid does; what the
    default costs over the answer, the share of settings that the answer beats, and its measuring time over that of the
    full grid."""

    regret: float
    grid_regret: float
    gain: float
    beats: float
    part: float


def measuring(machine: Machine, seed: int, spent: list[float]) -> Callable[[Block], list[Outcome]]:
    """What measures on it; the seconds of each measurement are added to `spent`."""
    generator = random.Random(seed)

    def measure(block: Block) -> list[Outcome]:
        level = generator.gauss(0, _DRIFT)
        outcomes = []
        for setting in block.configurations:
            noise = generator.gauss(0, machine.noises[setting] * (_SHORTER if block.stage is Stage.SHORT else 1))
            if generator.random() < _DISTURBED:
                noise += abs(generator.gauss(0, _BY))
            outcomes.append(Outcome(setting, math.exp(machine.costs[setting] + level + noise)))
            spent.append(SECONDS[block.stage])
        return outcomes

    return measure


def run_search(search: Search[Result], measure: Callable[[Block], Sequence[Outcome]]) -> Result:
    """Run a search with a function that measures its blocks; return its result."""
    try:
        block = next(search)
        while True:
            block = search.send(measure(block))
    except StopIteration as ended:
        result: Result = ended.value
        return result


def searched(machine: Machine, seed: int, repetitions: int = 6) -> Trial:
    """Search the machine as `hpcbench tune` would."""
    settings, spent = range(len(machine.points)), []  # type: ignore[var-annotated]
    space = Space.of([dict(zip("abcdefgh", point, strict=False)) for point in machine.points])
    sampler = Surrogate(space, seed) if len(settings) > MAX_UNSAMPLED else None
    steps = search(Trials(seed), settings, machine.default, repetitions, sampler)
    found: SearchResult | None = run_search(steps, measuring(machine, seed, spent))
    assert found is not None
    trials = Trials(seed)
    run_search(whole_grid(trials, settings, repetitions), measuring(machine, seed, []))
    cost, chosen = machine.costs[found.best], machine.costs[trials.effects().order()[0]]
    return Trial(
        regret=math.exp(cost - machine.best) - 1,
        grid_regret=math.exp(chosen - machine.best) - 1,
        gain=math.exp(machine.costs[machine.default] - cost) - 1,
        beats=sum(other > cost for other in machine.costs) / (len(machine.costs) - 1),
        part=sum(spent) / (len(settings) * repetitions * SECONDS[Stage.FULL]),
    )
