"""Few of many settings: measure all of them briefly, drop the worse two thirds, and measure the rest for longer.

Successive halving (Jamieson and Talwalkar, 2016, "Non-stochastic best arm identification and hyperparameter
optimization", AISTATS; thirds as in Li et al., 2018, "Hyperband", JMLR 18). What is certainly worse than the best, by
the interval of their difference, is dropped whatever its rank.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from hpcbench.analysis.stats.intervals import LEVEL
from hpcbench.tuning.ask_tell import Notebook, Search
from hpcbench.tuning.block_model import Effects
from hpcbench.tuning.fidelity import Stage

KEPT = 1 / 3


def halve(notebook: Notebook, settings: Collection[int], most: int) -> Search[list[int]]:
    """The best of these settings, `most` at most, the best first. They have been measured briefly before."""
    left = list(settings)
    while True:
        left = _kept(notebook.effects(), left, most)
        if len(left) <= most:
            return left
        yield from notebook.measure(left, Stage.MEDIUM)


def _kept(effects: Effects, settings: Collection[int], most: int) -> list[int]:
    among = set(settings)
    order = [setting for setting in effects.order() if setting in among]
    order = order[: max(most, math.ceil(KEPT * len(order)))]
    return [setting for setting in order if not effects.is_surely_worse(setting, order[0], LEVEL)]
