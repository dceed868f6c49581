"""The order of the clocks of a profile, so that no other change of the steps looks like an effect of the clock.

Steps change for other reasons, too: the device warms up, and numbers of a training become subnormal. The clocks are
therefore in random order, and the step is measured at the default clock before and after them.
"""

import random
from statistics import median
from typing import List, Sequence

from ...core.profiling.device_state import DeviceState

_DRIFT = 0.05  # of the step at the default clock, relative to that before the other clocks, from which it is a warning


def shuffled(states: Sequence[DeviceState], seed: int) -> List[DeviceState]:
    """Return states in a random order, which is the same for the same seed."""
    return random.Random(seed).sample(states, len(states))  # noqa: S311 - an order, not a secret


def changed(before_s: Sequence[float], after_s: Sequence[float]) -> List[str]:
    """Return a warning if the median step at the default clock changed from before to after the other clocks."""
    before, after = median(before_s), median(after_s)
    if abs(after - before) <= _DRIFT * before:
        return []
    what = "profile: at the default clock, a step took %.3g s before the other clocks, and %.3g s after them"
    return [what % (before, after) + ": differences between clocks may have the same cause"]
