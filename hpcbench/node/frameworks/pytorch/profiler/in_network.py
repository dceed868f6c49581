"""The time of each operator inside the network, from torch.profiler.

A time is the mean over the middle half of the steps, in the order of the times of whole steps. An interrupted step does
not count, and the times of operators add up to those of the same steps.
"""

import json
import time
from collections import defaultdict
from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

import torch
from torch.profiler import ProfilerActivity

from .listing import Key, Listed, Step

# Steps under torch.profiler. It keeps each event in memory, about 1 kB, and a step has up to ten thousand; ten steps
# suffice for a mean of those in the middle.
_MAX_STEPS = 10
_WARMUP_STEPS = 2  # steps before: after the first, memory is allocated, and the second shows how long a step takes
_Shapes = Tuple[Tuple[int, ...], ...]


class Profiled(NamedTuple):
    """The events of some steps, with the time of each step under the profiler."""

    events: Sequence[Any]
    times_s: Sequence[float]

    @property
    def kept(self) -> FrozenSet[int]:
        """Return the numbers of the steps that count: without the quarters with the lowest and the highest times.

        Of three steps, it is the one with the median time.
        """
        count = len(self.times_s)
        order = sorted(range(count), key=lambda number: self.times_s[number])
        cut = max(count // 4, int(count > 2))
        return frozenset(order[cut : count - cut])

    @property
    def step_s(self) -> float:
        """Return the mean time of the steps that count."""
        kept = self.kept
        return sum(self.times_s[number] for number in kept) / len(kept)


class InNetwork(NamedTuple):
    """The calls of an operator in the steps of a profile that count."""

    mean_s: float
    calls: int
    calls_per_step: int  # in all steps, on average


def profiled(step: Step, synchronize: Any, budget_s: float) -> Profiled:
    """Run up to 10 steps under torch.profiler, for about `budget_s` seconds, but at least one step."""
    once_s = min(_timed(step, synchronize) for _ in range(_WARMUP_STEPS))
    steps = max(1, min(_MAX_STEPS, int(budget_s / max(once_s, 1e-9))))
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])
    with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
        step.run()  # the first step under the profiler allocates its buffers
        synchronize()
    with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
        times_s = [_timed(step, synchronize) for _ in range(steps)]
    return Profiled(profile.events(), times_s)


def in_network(times_s: Sequence[float], profile: Profiled) -> InNetwork:
    """Return the mean time of the calls of an operator, of which `times_s` has all in their order.

    Each step has the same number of them. If a step had fewer, calls near the ends of steps count for their neighbours.
    """
    steps, count, kept = len(profile.times_s), len(times_s), profile.kept
    counted_s = [each_s for place, each_s in enumerate(times_s) if place * steps // count in kept]
    counted_s = counted_s or list(times_s)  # fewer calls than steps
    return InNetwork(sum(counted_s) / len(counted_s), len(counted_s), max(1, round(count / steps)))


def of_operators(profile: Profiled, operators: Sequence[Listed]) -> Dict[Key, InNetwork]:
    """Return the time of the calls of each operator, joined by name and shapes.

    Operators that differ only in strides, in lists of tensors or in arguments that are not tensors have a common time.
    Calls inside others are part of these.
    """
    keys: Dict[Tuple[str, _Shapes], List[Key]] = defaultdict(list)
    names: Dict[str, Set[_Shapes]] = defaultdict(set)
    for each in operators:
        name, shapes = _name(each.key), _shapes_of_key(each.key)
        keys[name, shapes].append(each.key)
        names[name].add(shapes)

    def known(event: Any) -> Optional[Tuple[str, _Shapes]]:
        shapes = names.get(event.name)
        if not shapes:
            return None
        own = _sorted(event.input_shapes)
        fitting = (
            [own] if own in shapes else [each for each in shapes if set(each) < set(own)]
        )  # a workspace in addition
        return (event.name, fitting[0]) if len(fitting) == 1 else None

    found: Dict[Key, InNetwork] = {}
    for place, times_s in _outermost(profile.events, known).items():
        found.update(dict.fromkeys(keys[place], in_network(times_s, profile)))
    return found


def _outermost(events: Sequence[Any], place_of: Any) -> Dict[Any, List[float]]:
    """Return the times in seconds of the events that have a place, except those inside others that have one."""
    times: Dict[Any, List[float]] = defaultdict(list)
    for event in events:
        place = place_of(event)
        if place is not None and not any(place_of(parent) is not None for parent in parents(event)):
            times[place].append(seconds(event))
    return times


def parents(event: Any) -> Iterator[Any]:
    """Yield the events that an event lies in, from the inside out."""
    while event.cpu_parent is not None:
        event = event.cpu_parent
        yield event


def seconds(event: Any) -> float:
    """Return the time of an event: that of its kernels on a GPU if it has any, otherwise that of the CPU."""
    name = "device_time_total" if hasattr(event, "device_time_total") else "cuda_time_total"  # before PyTorch 2.4
    on_device = getattr(event, name)
    return float(on_device or event.cpu_time_total) * 1e-6


def _timed(step: Step, synchronize: Any) -> float:
    start_s = time.monotonic()
    step.run()
    synchronize()
    return time.monotonic() - start_s


def _name(key: Key) -> str:
    """Return `aten::add` for aten.add.Tensor."""
    library, name = key.operator.split(".")[:2]
    return "%s::%s" % (library, name)


def _shapes_of_key(key: Key) -> _Shapes:
    arguments = json.loads(key.arguments).values()
    return _sorted(each["shape"] for each in arguments if isinstance(each, dict) and "shape" in each)


def _sorted(shapes: Iterable[Any]) -> _Shapes:
    """Return shapes in a fixed order, without those of numbers: the profiler shows the latter for all other values.

    Shapes in lists are left out, since not all versions of PyTorch show them.
    """
    return tuple(sorted(tuple(shape) for shape in shapes if len(shape) and not isinstance(shape[0], (list, tuple))))
