"""Timing one step: warm-up, then samples until there are enough.

A sample is the wall time of one step, the device synchronised before and after. Steps shorter than a millisecond are
timed in blocks, and the sample is the block's time divided by its steps, so that the clock costs next to nothing.
"""

import math
import time
from typing import Any, Callable, Dict, List, NamedTuple

MIN_SAMPLE_S = 1e-3
DECISION_INTERVAL_S = 0.1  # how often several ranks agree on whether to go on
WARMUP_INTERVAL_S = (
    DECISION_INTERVAL_S / 4
)  # more often: a step still gets faster, or slower, so it may well last longer


class Settings(NamedTuple):
    warmup_s: float
    min_time_s: float
    min_samples: int


class Samples(NamedTuple):
    """`times_s` are seconds per step, in the order in which they were taken."""

    times_s: List[float]
    steps_per_sample: int
    warmup_steps: int
    warmup_s: float
    first_step_s: float

    @classmethod
    def of_whole(cls, elapsed_s: float, first_step_s: float) -> "Samples":
        """One sample: all that was done, from beginning to end."""
        return cls([elapsed_s], 1, 0, 0.0, first_step_s)

    def as_record(self) -> Dict[str, Any]:
        return dict(self._asdict())


def measure(
    step: Callable[[], Any],
    synchronize: Callable[[], Any],
    settings: Settings,
    agree: Callable[[float], float] = lambda value: value,
    ranks: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> Samples:
    """Time `step`.

    `agree` returns rank 0's value on every rank: all ranks must take the same number of steps, because a step that
    one rank alone takes would wait for the others for ever.
    """

    def timed(steps: int) -> float:
        synchronize()
        start = clock()
        for _ in range(steps):
            step()
        synchronize()
        return clock() - start

    first_step_s = timed(1)
    warmup_start = clock()
    warmup_steps = 1
    shortest = first_step_s
    while agree(float(clock() - warmup_start < settings.warmup_s)):
        steps = int(agree(float(_steps_in(WARMUP_INTERVAL_S if ranks > 1 else 0.0, shortest))))
        shortest = timed(steps) / steps
        warmup_steps += steps
    warmup_s = first_step_s + clock() - warmup_start

    # The first step may have compiled or allocated: a step of its own tells how long one takes now.
    shortest = min(shortest, timed(1))
    steps_per_sample = int(agree(float(_steps_in(MIN_SAMPLE_S, shortest))))
    chunk = int(agree(float(_steps_in(DECISION_INTERVAL_S, shortest * steps_per_sample)))) if ranks > 1 else 1

    times: List[float] = []
    start = clock()
    while agree(float(len(times) < settings.min_samples or clock() - start < settings.min_time_s)):
        for _ in range(chunk):
            times.append(timed(steps_per_sample) / steps_per_sample)
    return Samples(times, steps_per_sample, warmup_steps + 1, warmup_s, first_step_s)


def _steps_in(duration_s: float, step_s: float) -> int:
    """Steps that fill `duration_s`, at least one."""
    return max(1, math.ceil(duration_s / max(step_s, 1e-9)))
