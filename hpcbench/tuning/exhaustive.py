"""The full grid: every setting as often and as long as the experiment asks, to check what a search has found."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from statistics import fmean, stdev

from scipy.special import stdtrit

from hpcbench.analysis.stats.intervals import LEVEL, Interval
from hpcbench.tuning.ask_tell import Notebook, Search
from hpcbench.tuning.block_model import Measured, fit
from hpcbench.tuning.fidelity import Stage


def whole_grid(notebook: Notebook, settings: Collection[int], repetitions: int) -> Search[None]:
    """Measure all of them in blocks."""
    for _ in range(repetitions):
        yield from notebook.measure(settings, Stage.FULL)


def beside_chosen(measured: Sequence[Measured], setting: int) -> Interval | None:
    """How many times as much the setting costs as what the grid itself chooses, in each block by what the others have
    chosen without it: the best of many is also the luckiest (cross-validation: Stone, 1974). None where a block is all
    there is.

    The geometric mean with Student's interval: where most blocks choose the setting itself, a median would know of no
    noise.
    """
    differences = []
    for block in sorted({each.block for each in measured}):
        costs = {each.setting: each.log_cost for each in measured if each.block == block}
        others = [each for each in measured if each.block != block and each.setting in costs]
        if others and setting in costs:
            differences.append(costs[setting] - costs[fit(others).order()[0]])
    if not differences:
        return None
    middle, count = fmean(differences), len(differences)
    if count == 1:
        return Interval(math.exp(middle), None, None)
    half = float(stdtrit(count - 1, (1 + LEVEL) / 2)) * stdev(differences) / math.sqrt(count)
    return Interval(math.exp(middle), math.exp(middle - half), math.exp(middle + half))
