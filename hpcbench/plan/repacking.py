"""Packs of what is left of a sweep, now that some repetitions have been measured and tell how long they take."""

from __future__ import annotations

import math
from collections.abc import Iterable

from hpcbench.config.slurm_options import SlurmOptions, walltime_s

SPARE, START_S = 1.25, 10.0  # of an estimate: runs differ, and each has to be started
Pack = tuple[int, ...]


def estimated_s(measured_s: float | None, limit_s: int) -> float:
    """How long to expect a repetition to take that took so long before; its wall time where that is not known."""
    return limit_s if measured_s is None else min(limit_s, SPARE * measured_s + START_S)


def repack(elements: Iterable[tuple[int, float]], slurm: SlurmOptions, width: int) -> tuple[list[Pack], int]:
    """Packs of elements, given with the seconds to expect of each, and the wall time in seconds that a pack needs.

    Packs are filled in order up to `slurm.pack_walltime`, `width` elements side by side; a pack has at least the wall
    time of one repetition, so that none of them can be cut off for ever.
    """
    limit_s = walltime_s(slurm.time)
    if slurm.pack_walltime is None:
        return [(element,) for element, _ in elements], limit_s
    most_s = walltime_s(slurm.pack_walltime)
    packs: list[Pack] = []
    longest_s = float(limit_s)
    lanes: list[float] = []
    for element, seconds in elements:
        if packs and min(lanes) + seconds <= most_s:
            packs[-1] = (*packs[-1], element)
        else:
            packs.append((element,))
            lanes = [0.0] * width
        lanes[lanes.index(min(lanes))] += seconds
        longest_s = max(longest_s, *lanes)
    return packs, min(most_s, math.ceil(longest_s))
