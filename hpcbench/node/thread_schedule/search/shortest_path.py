"""The cheapest counts of threads for the sections of a step, where changing the count costs something, too.

Sections come one after another, and a step follows a step: the counts are a closed path. Dynamic programming over
sections and counts (Bellman, 1957, "Dynamic Programming"; Viterbi, 1967, "Error bounds for convolutional codes", IEEE
Transactions on Information Theory 13, for the path through states), once for every count of the first section.
"""

import math
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

Times = Sequence[Mapping[int, float]]  # of each section: seconds by count of threads
Switch = Callable[[int, int], float]  # seconds that a change from one count to another costs; asked of different ones


class Path(NamedTuple):
    counts: Tuple[int, ...]  # of each section
    seconds: float  # of a step, with the changes


def cheapest(times: Times, switch: Switch) -> Path:
    """The cheapest closed path through the counts of every section. Raises ValueError where there is no section."""
    if not times or not all(times):
        raise ValueError("a path needs sections, and counts for each of them")
    return min((_cheapest_from(first, times, switch) for first in times[0]), key=lambda path: path.seconds)


def _cheapest_from(first: int, times: Times, switch: Switch) -> Path:
    """The cheapest closed path whose first section has this count."""
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
    """What a step takes with these counts, the changes between them and back to the first included."""
    own = sum(section[count] for section, count in zip(times, counts))
    return own + sum(_change(before, count, switch) for before, count in changes(counts))


def changes(counts: Sequence[int]) -> List[Tuple[int, int]]:
    """The count before each section and its own, in order; before the first section comes the last."""
    return [(counts[place - 1], count) for place, count in enumerate(counts)]


def best_fixed(times: Times, whole_s: Optional[Mapping[int, float]] = None) -> Path:
    """The best path that keeps one count, of those that every section has. Where times are of a clock, `whole_s` are
    those of whole steps by count, and decide: a stall that comes in another section each time is seen in them alone."""
    common = [count for count in times[0] if all(count in section for section in times)]
    totals = {count: sum(section[count] for section in times) for count in common}
    count = min(totals, key=(whole_s or totals).__getitem__)
    return Path((count,) * len(times), totals[count])


def _change(before: int, after: int, switch: Switch) -> float:
    return 0.0 if before == after else max(0.0, switch(before, after))


def counts_up_to(limit: int, default: int = 1) -> List[int]:
    """Powers of two below `limit`, the limit, and the default if it is below: what a section is timed under."""
    powers = [2**power for power in range(math.ceil(math.log2(limit)))]
    return sorted({*powers, min(default, limit), limit})
