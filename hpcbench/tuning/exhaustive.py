"""The full grid: every configuration with as many and as long runs as in the experiment, to check a search."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from statistics import fmean, stdev

from hpcbench.analysis.stats.distributions import student_quantile
from hpcbench.analysis.stats.intervals import LEVEL, Interval
from hpcbench.tuning.ask_tell import Search, Trials
from hpcbench.tuning.block_model import Measured, fit
from hpcbench.tuning.fidelity import Stage


def whole_grid(trials: Trials, configurations: Collection[int], repetitions: int) -> Search[None]:
    """Measure all configurations in blocks."""
    for _ in range(repetitions):
        yield from trials.measure(configurations, Stage.FULL)


def cost_over_choice(measured: Sequence[Measured], configuration: int) -> Interval | None:
    """Return the cost of a configuration over that of the grid's own choice; None with fewer than two blocks.

    In each block, the choice is made from the other blocks: chosen and compared by the same measurements, the best of
    many would seem too good (cross-validation: Stone, 1974). The estimate is the geometric mean with Student's
    interval: if most blocks choose the configuration itself, a median would show no noise.
    """
    differences = []
    for block in sorted({each.block for each in measured}):
        costs = {each.configuration: each.log_cost for each in measured if each.block == block}
        others = [each for each in measured if each.block != block and each.configuration in costs]
        if others and configuration in costs:
            differences.append(costs[configuration] - costs[fit(others).order()[0]])
    if not differences:
        return None
    middle, count = fmean(differences), len(differences)
    if count == 1:
        return Interval(math.exp(middle), None, None)
    half = student_quantile(count - 1, (1 + LEVEL) / 2) * stdev(differences) / math.sqrt(count)
    return Interval(math.exp(middle), math.exp(middle - half), math.exp(middle + half))
