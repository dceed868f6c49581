"""Few of many settings: measure all of them briefly, drop the worse two thirds, and measure the rest for longer.

Successive halving (Jamieson and Talwalkar, 2016, "Non-stochastic best arm identification and hyperparameter
optimization", AISTATS; thirds as in Li et al., 2018, "Hyperband", JMLR 18). What is certainly worse than the best, by
the interval of their difference, is dropped whatever its rank.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from hpcbench.tuning.blocks import Notebook, Search
from hpcbench.tuning.effects import Effects
from hpcbench.tuning.stages import Stage

KEPT = 1 / 3
LEVEL = 0.95
_LADDER = (Stage.SHORT, Stage.MEDIUM)


def halve(notebook: Notebook, settings: Collection[int], most: int) -> Search[list[int]]:
    """The best of these settings, `most` at most, the best first. Those in the notebook have been measured briefly."""
    left = list(settings)
    known = set(notebook.settings) | notebook.failed
    fresh = [setting for setting in left if setting not in known]
    if fresh:
        yield from notebook.measure(left, Stage.SHORT)
    step = 1
    while True:
        left = _kept(notebook.effects(), [setting for setting in left if setting not in notebook.failed], most)
        if len(left) <= most:
            return left
        yield from notebook.measure(left, _LADDER[min(step, len(_LADDER) - 1)])
        step += 1


def _kept(effects: Effects, settings: Collection[int], most: int) -> list[int]:
    order = [setting for setting in effects.order() if setting in set(settings)]
    order = order[: max(most, math.ceil(KEPT * len(order)))]
    return [setting for setting in order if not effects.is_surely_worse(setting, order[0], LEVEL)]
