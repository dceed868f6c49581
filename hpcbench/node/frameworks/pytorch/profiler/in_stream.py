"""The time of each operator in the stream of a step: real steps, with two readings of the timer around each call.

An operator alone, called again and again, is faster than in its step: its inputs are in the caches of the core, and the
allocator gives it the same memory for each output. In a step, predecessors have evicted weights, other cores hold the
inputs, and outputs are in new pages. Real steps have all of this. Between calls, the mode takes some microseconds of
Python, which are in no time.

Times of operators must add up to the time of a step. Medians of skewed times do not: their sum is up to 10 % too low on
a machine with other load. The time of an operator is therefore its mean over the middle half of the steps, in the order
of the time that all operators of a step take together: an interquartile mean, robust and additive. That of whole steps
is in the order of their own times.

Whole steps without the mode alternate with the timed ones. They are what the sum is compared with, since the state of a
network changes: in training, weights become small, and numbers below the normal range make the same step much slower.
"""

import math
import time
from statistics import stdev
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .....core.profiling.operator_row import FORWARD, NETWORK
from ....measurement.stopping_rules import Settings, Stopping
from .listing import AtenCalls, Calls, Key, Step

_WARMUP_STEPS = 2  # timed steps that do not count: in the first, the mode examines each operator
_MOST_UNLIKE = 3  # steps in a row with other operators than the first: then a comparison call by call is hopeless
# For the CI, consecutive steps form batches, which are nearly independent (Law, 2015, "Simulation Modeling and
# Analysis", section 9.5.3). The mean without each batch, whose steps are chosen in the same way, shows how much the
# mean varies: the jackknife with groups (Shao and Tu, 1995, "The Jackknife and Bootstrap", chapter 2). The steps of the
# middle half alone would not show it, since their times were chosen to be alike. Student's t has one degree of freedom
# less than there are batches.
_BATCHES, _STUDENT_T = 7, 2.447
_FEWEST_STEPS = 2 * _BATCHES  # for a CI
WHOLE = Key(NETWORK, FORWARD, "{}")  # of the whole steps, among the keys of operators

Timer = Callable[[], float]


class StreamTime(NamedTuple):
    """The time of one call of an operator in its step, with its 95 % CI, as fields of OperatorRow."""

    stream_s: float
    stream_low_s: Optional[float] = None  # None if there are too few steps
    stream_high_s: Optional[float] = None


class StreamTimer:
    """Times the operators of steps, one step at a time. All steps must call the same operators in the same order."""

    def __init__(self, step: Step, timer: Timer = time.perf_counter) -> None:
        self._run, self._mode = step.run, _Timing(timer)
        step.run()  # the first step creates gradients and the state of the optimizer, which other steps do not
        with _Sequence(step) as sequence:
            step.run()
        self._functions = sequence.functions
        self.keys: Sequence[Key] = sequence.keys

    def once(self) -> Optional[List[float]]:
        """Run a step, and return the time of each call in seconds, in the order of `keys`.

        Return None if the step has called other operators.
        """
        self._mode.timed = []
        with self._mode:
            self._run()
        timed, self._mode.timed = self._mode.timed, []
        return [each_s for _, each_s in timed] if [function for function, _ in timed] == self._functions else None


class _Sequence(Calls):
    """A mode that notes all calls of a step."""

    def __init__(self, step: Step) -> None:
        super().__init__(step.weights())
        self.keys: List[Key] = []
        self.functions: List[Any] = []

    def seen(self, key: Key, function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        """Note a call."""
        self.keys.append(key)
        self.functions.append(function)


class _Timing(AtenCalls):
    """A mode that times each call, and does as little else as possible."""

    def __init__(self, timer: Timer) -> None:
        super().__init__()
        self.timed: List[Tuple[Any, float]] = []
        self._timer = timer

    def call(self, function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Run an operator, and note its time."""
        operator, timer = function._op, self._timer  # OpOverload.__call__ takes 1 us more
        start_s = timer()
        output = operator(*args, **kwargs)
        end_s = timer()
        self.timed.append((function, end_s - start_s))
        return output


def streamed(step: Step, whole: Step, settings: Settings) -> Dict[Key, StreamTime]:
    """Time the operators in steps until a stopping rule holds for their sum, as in the measurement of the network.

    `step` can be observed; `whole` is the step of the case. They take turns, and WHOLE is the key of the latter. Return
    nothing if the steps do not call the same operators.
    """
    timer = StreamTimer(step)
    steps: List[List[float]] = []
    sums_s: List[float] = []
    wholes_s: List[float] = []
    stopping, unlike = Stopping(settings), 0
    for _ in range(_WARMUP_STEPS):
        timer.once()
    start_s = time.monotonic()
    while not stopping.reason(sums_s, time.monotonic() - start_s):
        times_s = timer.once()
        if times_s is None:
            unlike += 1
            if unlike == _MOST_UNLIKE:
                return {}
        else:
            unlike = 0
            sums_s.append(sum(times_s))
            steps.append(times_s)
            wholes_s.append(_seconds(whole.run))
    return {**stream_times(timer.keys, steps), **stream_times([WHOLE], [[each_s] for each_s in wholes_s])}


def _seconds(run: Callable[[], Any]) -> float:
    start_s = time.perf_counter()
    run()
    return time.perf_counter() - start_s


def stream_times(keys: Sequence[Key], steps: Sequence[Sequence[float]]) -> Dict[Key, StreamTime]:
    """Return the time of each distinct operator, from the times of the calls, in the order of `keys`, in each step.

    Each time is a mean over its calls in the middle half of the steps. Times calls per step add up to the mean time
    that all operators of these steps take together.
    """
    kept = _middle_half([sum(step) for step in steps])
    places: Dict[Key, List[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return {key: _time([_mean([step[place] for place in own]) for step in steps], kept) for key, own in places.items()}


class _Kept(NamedTuple):
    """The numbers of the steps that count: of all steps, and of all steps without one of the batches."""

    of_all: Sequence[int]
    without_a_batch: Sequence[Sequence[int]]  # none if there are too few steps for a CI


def _middle_half(sums_s: Sequence[float]) -> _Kept:
    """Leave out the quarter of the steps with the lowest sums and that with the highest."""
    count = len(sums_s)
    order = sorted(range(count), key=lambda number: sums_s[number])
    if count < _FEWEST_STEPS:
        return _Kept(_without_quarters(order), ())
    bounds = [count * number // _BATCHES for number in range(_BATCHES + 1)]
    left = [[number for number in order if not start <= number < end] for start, end in zip(bounds, bounds[1:])]
    return _Kept(_without_quarters(order), [_without_quarters(each) for each in left])


def _without_quarters(order: Sequence[int]) -> Sequence[int]:
    cut = len(order) // 4
    return order[cut : len(order) - cut]


def _time(times_s: Sequence[float], kept: _Kept) -> StreamTime:
    """Return the mean of the times of the kept steps, with its CI from the jackknife if there are enough."""
    middle_s = _mean([times_s[number] for number in kept.of_all])
    if not kept.without_a_batch:
        return StreamTime(middle_s)
    means_s = [_mean([times_s[number] for number in numbers]) for numbers in kept.without_a_batch]
    pseudo_s = [_BATCHES * middle_s - (_BATCHES - 1) * each_s for each_s in means_s]
    reach_s = _STUDENT_T * stdev(pseudo_s) / math.sqrt(_BATCHES)
    return StreamTime(middle_s, max(0.0, middle_s - reach_s), middle_s + reach_s)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
