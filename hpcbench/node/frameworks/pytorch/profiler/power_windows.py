"""The power windows: the device does nothing but one operator, again and again, long enough for the power sensor."""

import time
from dataclasses import replace
from typing import Any, Callable, List, NamedTuple, Sequence, Tuple

from .....core.profiling.operator_row import OperatorRow
from .replay import Round
from .timers import step_of

_BLOCK_S = 0.1  # of calls between two readings of the timer: a window of 2 s is at most 5 % longer than requested
_MAX_BLOCK = 100_000  # rounds, in case the time of a call is unknown or far too short
# Before an idle window: NVML returns the power of many GPUs averaged over one second (nvmlDeviceGetPowerUsage), so that
# it contains the work before; the clock also falls within this time.
SETTLE_S = 1.0


class Window(NamedTuple):
    """A stretch of time on the monotonic clock, as fields of OperatorRow."""

    window_start_s: float
    window_end_s: float
    window_calls: int


def run(calls: Round, each_s: float, synchronize: Callable[[], Any], length_s: float) -> Window:
    """Repeat a round of calls, each of which takes about `each_s` seconds, for `length_s` seconds.

    About 0.1 s of calls run before the window, so that the rise of the clock is not in it.
    """
    step = step_of(calls)
    block = max(1, min(_MAX_BLOCK, int(_BLOCK_S / max(each_s * calls.size, 1e-9))))

    def run_block() -> None:
        for _ in range(block):
            step()
        synchronize()

    run_block()
    rounds = 0
    start_s = time.monotonic()
    while time.monotonic() - start_s < length_s:
        run_block()
        rounds += block
    return Window(start_s, time.monotonic(), rounds * calls.size)


def idle(length_s: float) -> Window:
    """Do nothing for `length_s` seconds, from `SETTLE_S` after the work before."""
    time.sleep(SETTLE_S)
    start_s = time.monotonic()
    time.sleep(length_s)
    return Window(start_s, time.monotonic(), 0)


def with_window(row: OperatorRow, window: Window) -> OperatorRow:
    """Return a row with its power window."""
    return replace(row, **window._asdict())


def chosen(rows: Sequence[OperatorRow], count: int) -> List[int]:
    """Return the places of up to `count` rows that span the utilisation of compute units and memory.

    Each row is a point: its FLOP/s and bytes/s relative to the best of all rows. The first is the one with the longest
    time in a step; each further one is the farthest from those before (Gonzalez, 1985, "Clustering to minimize the
    maximum intercluster distance").
    """
    timed = [place for place, row in enumerate(rows) if row.hot_s]
    points = dict(zip(timed, _shares([rows[place] for place in timed])))
    found: List[int] = []
    distances = {place: float("inf") for place in timed}
    while distances and len(found) < count:
        best = max(
            distances, key=lambda place: (distances[place], (rows[place].hot_s or 0) * rows[place].calls_per_step)
        )
        found.append(best)
        del distances[best]
        for place in distances:
            apart = sum((one - other) ** 2 for one, other in zip(points[place], points[best]))
            distances[place] = min(distances[place], apart)
    return found


def _shares(rows: Sequence[OperatorRow]) -> List[Tuple[float, float]]:
    rates = [((row.flops or 0) / (row.hot_s or 1), (row.bytes_moved or 0) / (row.hot_s or 1)) for row in rows]
    best = [max((rate[axis] for rate in rates), default=0.0) or 1.0 for axis in (0, 1)]
    return [(compute / best[0], memory / best[1]) for compute, memory in rates]
