"""The times of one operator: with all arguments in the caches, with none, and as inside the network."""

from statistics import median
from typing import Any, Dict, List, NamedTuple, Optional

import torch

from ....measurement.stopping_rules import Settings, interval
from .in_stream import StreamTime
from .replay import Captured, Round
from .timers import FEWEST_MEASUREMENTS, Timer

HOT, COLD, STREAM = "hot", "cold", "stream"
TIMES = (HOT, COLD, STREAM)

# Last-level caches that copies of arguments fill together. With one, a cache that does not replace exactly the least
# recently used line would still have some of a copy when its turn comes; with two, it has next to nothing.
_CACHES_FILLED = 2
# Memory slower than any in use: one channel of DDR3 reads 6e9 bytes/s, and an access takes 1e-7 s. If even such memory
# changes a time by less than the requested precision, the hot time is also the cold one.
_SLOWEST_BYTES_PER_S, _LATENCY_S = 2e9, 1e-7

# Limits of time, as multiples of `max_time_s`, the limit for the network itself.
_ALL_OPERATORS = 4.0  # all times of all operators: a profile takes a few times as long as its measurement
_LONGEST = 0.01  # one time of an operator in a small network: 100 ms of the default 10 s, thousands of short calls
_SHORTEST = 0.001  # one time in a network of over a thousand operators: 10 ms, some tens of blocks of short calls
# The fraction of one such time that is warm-up, and that has to pass before the precision may end it: the first calls
# bring the caches and the clock of the CPU into their state.
_WARMUP = 0.2


class Pace(NamedTuple):
    """How long each time may be measured, and how much memory a step uses between two calls with one weight."""

    settings: Settings
    step_bytes: int


def pace(settings: Settings, operators: int, step_bytes: int) -> Pace:
    """Return the pace for a number of operators, in proportion to the time limit of the measurement of the network."""
    each_s = _ALL_OPERATORS / (len(TIMES) * max(1, operators))
    limit_s = settings.max_time_s * min(_LONGEST, max(_SHORTEST, each_s))
    own = settings._replace(max_time_s=limit_s, min_time_s=limit_s * _WARMUP, max_warmup_s=limit_s * _WARMUP)
    return Pace(own, step_bytes)


def times(operator: Captured, timer: Timer, pace: Pace, in_steps: Optional[StreamTime] = None) -> Dict[str, Any]:
    """Return the times of an operator as fields of OperatorRow.

    The time in the stream is that in real steps, if given. Otherwise, the operator is timed with copies of its weights
    that take turns, so that as much memory is used between two calls with one copy as in a step, up to what evicts it
    from the caches. The cold time is left out if the arguments are so small that the most copies fit into the cache.
    """
    filled = _CACHES_FILLED * timer.cache_bytes
    wanted = [(COLD, operator.bytes, filled, False)]
    if not in_steps:
        wanted.append((STREAM, operator.weight_bytes, min(filled, pace.step_bytes), True))
    hot = operator.round(1)
    with torch.inference_mode():
        settings = _long_enough(hot, timer, pace.settings)
        found: Dict[str, List[float]] = {HOT: timer.times_s(hot, settings)}
        for name, size, used, weights_only in wanted:
            copies = round(used / size) if size else 1
            if copies <= 1 or _LATENCY_S + size / _SLOWEST_BYTES_PER_S < settings.precision * median(found[HOT]):
                found[name] = found[HOT]
            elif copies <= timer.most_copies or name == STREAM:
                turns = operator.round(min(copies, timer.most_copies), weights_only=weights_only)
                found[name] = timer.times_s(turns, settings)
        host_s = timer.host_s(hot)
    in_stream = in_steps._asdict() if in_steps else {}
    return {**_fields(found), **in_stream, "host_s": host_s, "measurements": len(found[HOT])}


def _long_enough(calls: Round, timer: Timer, settings: Settings) -> Settings:
    """Return settings that give slow operators the time for a CI."""
    quick = settings._replace(min_measurements=1, max_warmup_s=0.0, min_time_s=0.0, max_time_s=1e-9)
    once_s = timer.times_s(calls, quick)[0] * calls.size
    return settings._replace(max_time_s=max(settings.max_time_s, FEWEST_MEASUREMENTS * once_s))


def _fields(found: Dict[str, List[float]]) -> Dict[str, Any]:
    """Return the median of each time, and its CI, as fields of OperatorRow."""
    fields: Dict[str, Any] = {}
    for name, measured in found.items():
        low_high = interval(measured)
        fields["%s_s" % name] = median(measured)
        if low_high:
            fields["%s_low_s" % name], fields["%s_high_s" % name] = low_high
    return fields
