"""How many measurements a search may take: what the job that it runs in asks time for."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hpcbench.tuning.space import Context

PART = 0.25  # of the full grid that a search should take at most
PAIRS = 2  # for each repetition of the experiment: of a schedule beside the best fixed setting


def most_measurements(contexts: Sequence[Context], repetitions: int, held_out: int, *, exhaustive: bool) -> int:
    """In all contexts, with schedules at `held_out` other shapes, and the full grid where it is asked for."""
    grid = repetitions * sum(len(context.cases) for context in contexts)
    schedules = sum(context.dynamic is not None for context in contexts)
    of_schedules = schedules * (1 + (1 + held_out) * 2 * PAIRS * repetitions)
    return math.ceil((PART + exhaustive) * grid) + of_schedules
