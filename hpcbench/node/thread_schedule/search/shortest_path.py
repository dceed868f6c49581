"""The cheapest thread counts for the sections of a step, if changing the count has a cost.

Sections and steps follow each other, so the counts are a closed path. Dynamic programming over sections and counts
(Bellman, 1957, "Dynamic Programming"; Viterbi, 1967, "Error bounds for convolutional codes", IEEE Transactions on
Information Theory 13, for the path through states) finds it, once for every count of the first section.
"""

import math
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

Times = Sequence[Mapping[int, float]]  # of each section: seconds by count of threads
Switch = Callable[[int, int], float]  # seconds that a change between different counts costs


class Path(NamedTuple):
    """The counts of the sections, and the seconds of a step."""

    counts: Tuple[int, ...]  # of each section
    seconds: float  # of a step, with the changes


def cheapest(times: Times, switch: Switch) -> Path:
    """Return the cheapest closed path through the counts of every section. Raise ValueError without sections."""
    if not times or not all(times):
        raise ValueError("a path needs sections, and counts for each of them")
    return min((_cheapest_from(first, times, switch) for first in times[0]), key=lambda path: path.seconds)


def _cheapest_from(first: int, times: Times, switch: Switch) -> Path:
    """Return the cheapest closed path whose first section has this count."""
    reached: Dict[int, float] = {first: times[0][first]}
    came_from: List[Dict[int, int]] = []
    for section in times[1:]:
        steps: Dict[int, int] = {}
        arrived: Dict[int, float] = {}
        for count, seconds in section.items():
            before = min(reached, key=lambda other: reached[other] + _change(other, count, switch))
            steps[count] = before
            arrived[count] = reached[before] + _change(before, count, switch) + seconds
        came_from.append(steps)
        reached = arrived
    last = min(reached, key=lambda count: reached[count] + _change(count, first, switch))
    seconds = reached[last] + _change(last, first, switch)
    counts = [last]
    for steps in reversed(came_from):
        counts.append(steps[counts[-1]])
    return Path(tuple(reversed(counts)), seconds)


def seconds_of(counts: Sequence[int], times: Times, switch: Switch) -> float:
    """Return the seconds of a step with these counts, including the changes between them and back to the first."""
    own = sum(section[count] for section, count in zip(times, counts))
    return own + sum(_change(before, count, switch) for before, count in changes(counts))


def changes(counts: Sequence[int]) -> List[Tuple[int, int]]:
    """Return pairs of the count before each section and its own; the last section comes before the first."""
    return [(counts[place - 1], count) for place, count in enumerate(counts)]


def best_fixed(times: Times, whole_s: Optional[Mapping[int, float]] = None) -> Path:
    """Return the best path of a single count, among the counts that every section has.

    `whole_s` are the seconds of whole steps by count. If given, they decide: only they show a stall that occurs in
    another section each time.
    """
    common = [count for count in times[0] if all(count in section for section in times)]
    totals = {count: sum(section[count] for section in times) for count in common}
    count = min(totals, key=(whole_s or totals).__getitem__)
    return Path((count,) * len(times), totals[count])


def _change(before: int, after: int, switch: Switch) -> float:
    return 0.0 if before == after else max(0.0, switch(before, after))


def counts_up_to(limit: int, default: int = 1) -> List[int]:
    """Return the counts to try: powers of two below `limit`, the limit, and the default if it is below."""
    powers = [2**power for power in range(math.ceil(math.log2(limit)))]
    return sorted({*powers, min(default, limit), limit})
