"""The maximum number of measurements of a search, from which its job's wall time follows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hpcbench.tuning.paired_comparison import MIN_PAIRS
from hpcbench.tuning.search import FINALISTS, FINALS, max_pairs
from hpcbench.tuning.search_space import Context
from hpcbench.tuning.surrogate import MAX_UNSAMPLED, Space, Surrogate

MAX_FRACTION = 0.25  # of the full grid
PAIRS_PER_REPETITION = 2  # in the comparison of a thread plan with the best fixed configuration


def max_measurements(contexts: Sequence[Context], repetitions: int, held_out: int, *, exhaustive: bool) -> int:
    """Return the maximum number of measurements in all contexts.

    It includes those of thread plans at `held_out` other shapes and, if `exhaustive`, the full grid.
    """
    grid = repetitions * sum(len(context.cases) for context in contexts)
    searches = sum(_of_search(context, repetitions) for context in contexts)
    schedules = sum(context.dynamic is not None for context in contexts)
    of_schedules = schedules * (1 + (1 + held_out) * 2 * max(MIN_PAIRS, PAIRS_PER_REPETITION * repetitions))
    return searches + exhaustive * grid + of_schedules


def _of_search(context: Context, repetitions: int) -> int:
    """Return the most measurements of one search: a fraction of the grid, and no less than its stages take.

    These are the brief measurements, half as many again for halving, the finals and the paired comparison.
    """
    settings = len(context.cases)
    briefly = settings if settings <= MAX_UNSAMPLED else Surrogate(Space.of(context.points), 0).max_measurements
    stages = briefly * 3 // 2 + FINALISTS * FINALS + 2 * max(MIN_PAIRS, max_pairs(settings, repetitions))
    return max(stages, math.ceil(MAX_FRACTION * settings * repetitions))
