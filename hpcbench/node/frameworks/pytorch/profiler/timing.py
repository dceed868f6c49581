"""The times of one operator: with all arguments in the caches, with none, and as inside the network."""

from statistics import median
from typing import Any, Dict, List, NamedTuple

import torch

from ....worker.stopping_rules import Settings, interval
from .clocks import Clock
from .replay import Captured, Round

HOT, COLD, STREAM = "hot", "cold", "stream"
_CACHES = 2  # times the last-level cache is what copies must fill, so that none is in it when its turn comes
_SLOWEST_MEMORY = 2e9  # bytes per second: if even this memory cannot make a difference, the hot time is the cold one
_MOST_COPIES = 4096
_FEWEST = 6  # measurements that have a 95 % CI of the median


class Pace(NamedTuple):
    """How long each time may be measured, and how much memory a step uses between two calls with one weight."""

    settings: Settings
    step_bytes: int


def times(operator: Captured, clock: Clock, pace: Pace) -> Dict[str, Any]:
    """Return the times of an operator as fields of OperatorRow.

    The copies of the weights take turns so that as much memory is used between two calls with one copy as in a step,
    up to what evicts it from the caches. The cold time is left out if the arguments are so small that even 4,096 copies
    fit into the cache.
    """
    filled = _CACHES * clock.cache_bytes
    hot = operator.round(1)
    with torch.inference_mode():
        settings = _long_enough(hot, clock, pace.settings)
        found: Dict[str, List[float]] = {HOT: clock.times_s(hot, settings)}
        for name, size, used, weights_only in (
            (COLD, operator.bytes, filled, False),
            (STREAM, operator.weight_bytes, min(filled, pace.step_bytes), True),
        ):
            copies = round(used / size) if size else 1
            if copies <= 1 or size / _SLOWEST_MEMORY < settings.precision * median(found[HOT]):
                found[name] = found[HOT]
            elif copies <= _MOST_COPIES or name == STREAM:
                turns = operator.round(min(copies, _MOST_COPIES), weights_only=weights_only)
                found[name] = clock.times_s(turns, settings)
        host_s = clock.host_s(hot)
    return {**_fields(found), "host_s": host_s, "measurements": len(found[HOT])}


def _long_enough(calls: Round, clock: Clock, settings: Settings) -> Settings:
    """Return settings that give slow operators the time for a CI."""
    quick = settings._replace(max_warmup_s=0.0, min_time_s=0.0, max_time_s=1e-9)
    once_s = clock.times_s(calls, quick)[0] * calls.count
    return settings._replace(max_time_s=max(settings.max_time_s, _FEWEST * once_s))


def _fields(found: Dict[str, List[float]]) -> Dict[str, Any]:
    """Return the median of each time, and its CI, as fields of OperatorRow."""
    fields: Dict[str, Any] = {}
    for name, measured in found.items():
        low_high = interval(measured)
        fields["%s_s" % name] = median(measured)
        if low_high:
            fields["%s_low_s" % name], fields["%s_high_s" % name] = low_high
    return fields
