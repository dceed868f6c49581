"""Timing of one step: warm up until the step time is stationary, then measure until a stopping rule holds.

A measurement is the wall time of one step, with the device synchronized before and after. Short steps are timed in
blocks: the measurement is the block's time divided by its steps, so that the cost of reading the timer is negligible.
"""

import math
import time
from statistics import median
from typing import Any, Callable, List, NamedTuple, Tuple

from ...core.samples import Samples, Window
from .stopping_rules import MAX_SAMPLES_KEPT, Settings, Stopping
from .warmup import is_steady, trend

WINDOW_S = 0.5  # of measurements, between two checks of the stopping rules; interference is judged for each window
WARMUP_WINDOW_S = 0.1
SHORTEST_WARMUP_S = 0.5  # unless the limit is lower: slow changes need time to show
TIMER_SHARE = 1e-3  # of a measurement, at most for reading the timer
SPARE = 1.5  # factor on the length of blocks, since the cost of the timer is an estimate
MAX_IN_A_WINDOW = 5000  # measurements, so that a window ends even if the timer does not advance
MAX_STEPS = 1_000_000  # in a measurement
_EMPTY_SAMPLES = 101
_RECENT = 20  # times that estimate the current step time

Timer = Callable[[], float]


class TimerError(RuntimeError):
    """The timer went backwards: no measurement with it is valid."""


def measure(
    step: Callable[[], Any],
    synchronize: Callable[[], Any],
    settings: Settings,
    agree: Callable[[Any], Any] = lambda value: value,
    timer: Timer = time.monotonic,
    after_warmup: Callable[[], None] = lambda: None,
    period: int = 1,
) -> Samples:
    """Time `step`. Raise TimerError if the timer goes backwards. Call `after_warmup` before the measured steps.

    If only one of `period` steps does some of the work, each measurement has a multiple of `period` steps, unless this
    would take longer than the time limit.

    `agree` returns rank 0's value on every rank: all ranks must take the same number of steps, because a step that only
    one rank takes would wait for the others forever.
    """

    def timed(steps: int) -> float:
        synchronize()
        start = timer()
        for _ in range(steps):
            step()
        synchronize()
        elapsed_s = timer() - start
        if elapsed_s < 0:
            raise TimerError("the clock went back by %g s during a measurement" % -elapsed_s)
        return elapsed_s

    timer_cost_s = median(timed(0) for _ in range(_EMPTY_SAMPLES))
    first_step_s = timed(1)
    warmup = _warm_up(timed, timer_cost_s / TIMER_SHARE, settings, agree, timer, period)
    after_warmup()
    times, windows, stopped = _sample(timed, warmup, settings, agree, timer)
    return Samples(
        times_s=times,
        windows=windows,
        steps_per_measurement=warmup.block,
        stopped=stopped,
        clock_cost_s=timer_cost_s,
        first_step_s=first_step_s,
        warmup_steps=1 + warmup.steps,
        warmup_s=first_step_s + warmup.elapsed_s,
        steady=warmup.steady,
        drift=trend(times),
    )


class _WarmUp(NamedTuple):
    step_s: float  # step time at the end of the warm-up
    block: int  # steps per measurement
    steps: int
    elapsed_s: float
    steady: bool


def _warm_up(
    timed: Callable[[int], float],
    shortest_s: float,
    settings: Settings,
    agree: Callable[[Any], Any],
    timer: Timer,
    period: int,
) -> _WarmUp:
    """Take steps until their times are stationary; find how many last at least `shortest_s` seconds."""
    start = timer()
    times: List[float] = []
    steady, steps, block, count = False, 0, 1, 1
    while count:
        times += [timed(block) / block for _ in range(count)]
        steps += count * block
        step_s = median(times[-_RECENT:])
        elapsed_s = timer() - start
        steady = elapsed_s >= SHORTEST_WARMUP_S and is_steady(times, settings.precision)
        done = steady or elapsed_s >= settings.max_warmup_s or len(times) >= MAX_SAMPLES_KEPT
        wanted = 1 if step_s >= shortest_s else _number(SPARE * shortest_s, step_s, MAX_STEPS)
        if period * step_s <= settings.max_time_s:
            wanted = math.ceil(wanted / period) * period
        count, block = agree([0 if done else _number(WARMUP_WINDOW_S, step_s * wanted, MAX_IN_A_WINDOW), wanted])
    return _WarmUp(step_s, block, steps, timer() - start, steady)


def _sample(
    timed: Callable[[int], float], warmup: _WarmUp, settings: Settings, agree: Callable[[Any], Any], timer: Timer
) -> Tuple[List[float], List[Window], str]:
    """Take windows of measurements until a stopping rule holds; return times per step, windows and the reason."""
    stopping = Stopping(settings)
    start = timer()
    times: List[float] = []
    windows: List[Window] = []
    step_s = warmup.step_s
    while True:
        elapsed_s = timer() - start
        rest_s = min(WINDOW_S, settings.max_time_s - elapsed_s)
        count = _number(rest_s, step_s * warmup.block, MAX_IN_A_WINDOW)
        count, reason = agree([count, stopping.reason(times, elapsed_s)])
        if reason:
            return times, windows, reason
        began_s = timer()
        times += [timed(warmup.block) / warmup.block for _ in range(count)]
        windows.append(Window(began_s, timer(), count))
        step_s = median(times[-count:])


def _number(duration_s: float, each_s: float, most: int) -> int:
    """Return how many steps of `each_s` fill `duration_s`, from 1 to `most`."""
    return max(1, min(most, math.ceil(duration_s / max(each_s, 1e-9))))
