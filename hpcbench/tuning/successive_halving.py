"""Select a few of many configurations: measure all briefly, drop the worse two thirds, measure the rest for longer.

Successive halving (Jamieson and Talwalkar, 2016, "Non-stochastic best arm identification and hyperparameter
optimization", AISTATS; thirds as in Li et al., 2018, "Hyperband", JMLR 18). A configuration that is significantly
worse than the best is dropped whatever its rank.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from hpcbench.analysis.stats.intervals import LEVEL
from hpcbench.tuning.ask_tell import Search, Trials
from hpcbench.tuning.block_model import Effects
from hpcbench.tuning.fidelity import Stage

KEPT_FRACTION = 1 / 3


def halve(trials: Trials, configurations: Collection[int], most: int) -> Search[list[int]]:
    """Return the best of these configurations, at most `most`, the best first. They were measured briefly before."""
    left = list(configurations)
    while True:
        left = _kept(trials.effects(), left, most)
        if len(left) <= most:
            return left
        yield from trials.measure(left, Stage.MEDIUM)


def _kept(effects: Effects, configurations: Collection[int], most: int) -> list[int]:
    among = set(configurations)
    order = [configuration for configuration in effects.order() if configuration in among]
    order = order[: max(most, math.ceil(KEPT_FRACTION * len(order)))]
    return [
        configuration for configuration in order if not effects.is_significantly_worse(configuration, order[0], LEVEL)
    ]
