"""How many measurements a search may take: what the job that it runs in asks time for."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hpcbench.tuning.paired_comparison import FEWEST
from hpcbench.tuning.search import FINALISTS, FINALS, most_pairs
from hpcbench.tuning.search_space import Context
from hpcbench.tuning.surrogate import ALL, Space, Surrogate

PART = 0.25  # of the full grid that a search should take at most
PAIRS = 2  # for each repetition of the experiment: of a schedule beside the best fixed setting


def most_measurements(contexts: Sequence[Context], repetitions: int, held_out: int, *, exhaustive: bool) -> int:
    """In all contexts, with schedules at `held_out` other shapes, and the full grid where it is asked for."""
    grid = repetitions * sum(len(context.cases) for context in contexts)
    searches = sum(_of_search(context, repetitions) for context in contexts)
    schedules = sum(context.dynamic is not None for context in contexts)
    of_schedules = schedules * (1 + (1 + held_out) * 2 * max(FEWEST, PAIRS * repetitions))
    return searches + exhaustive * grid + of_schedules


def _of_search(context: Context, repetitions: int) -> int:
    """A part of the grid, and no less than its stages take: as many as are measured briefly, half as many again to
    halve them, the finals, and the duel."""
    settings = len(context.cases)
    briefly = settings if settings <= ALL else Surrogate(Space.of(context.points), 0).most_measurements
    stages = briefly * 3 // 2 + FINALISTS * FINALS + 2 * max(FEWEST, most_pairs(settings, repetitions))
    return max(stages, math.ceil(PART * settings * repetitions))
