"""The full grid: every setting as often and as long as the experiment asks, to check what a search has found."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hpcbench.tuning.blocks import Notebook, Search
from hpcbench.tuning.effects import Effects, Measured, fit
from hpcbench.tuning.stages import Stage

FOUND, CHOSEN = 0, 1  # what beside_chosen compares


def whole_grid(notebook: Notebook, settings: Collection[int], repetitions: int) -> Search[None]:
    """Measure all of them in blocks."""
    for _ in range(repetitions):
        yield from notebook.measure(settings, Stage.FULL)


def beside_chosen(measured: Sequence[Measured], setting: int) -> Effects | None:
    """The setting, FOUND, beside what the grid itself chooses, CHOSEN, in each block by what the others have chosen
    without it: the best of many is also the luckiest (cross-validation: Stone, 1974). None where a block is all there
    is."""
    pairs: list[Measured] = []
    blocks = sorted({each.block for each in measured})
    for block in blocks:
        costs = {each.setting: each.log_cost for each in measured if each.block == block}
        others = [each for each in measured if each.block != block and each.setting in costs]
        if others and setting in costs:
            chosen = fit(others).order()[0]
            pairs += [Measured(FOUND, block, costs[setting]), Measured(CHOSEN, block, costs[chosen])]
    return fit(pairs) if pairs else None
