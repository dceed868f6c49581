"""The measurements of one run, as a worker takes them and a record holds them."""

from statistics import median
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

SAMPLES = "times_s"  # of Samples, as in records, and the column of such arrays in the tables that are made of them


class Window(NamedTuple):
    """When a few samples were taken, on CLOCK_MONOTONIC of the node, as the monitor reads it."""

    start_s: float
    end_s: float
    samples: int


class Samples(NamedTuple):
    """`times_s` are seconds per step, in the order in which they were taken."""

    times_s: List[float]
    windows: List[Window]
    steps_per_sample: int
    stopped: str  # why: a reason of stopping.py
    clock_cost_s: float  # of reading the clock, and of synchronising a device that is done
    first_step_s: float
    warmup_steps: int  # with the first step
    warmup_s: float
    steady: bool  # whether the warm-up ended because steps were steady
    drift: float  # by what part of the median the samples still changed from the first to the last; 0 without a trend

    def as_record(self) -> Dict[str, Any]:
        return dict(self._asdict())


def of_whole(elapsed_s: float, end_s: float, first_step_s: Optional[float]) -> Dict[str, Any]:
    """For the record: one sample, all that was done from beginning to end. What it has no use for is null."""
    samples: Dict[str, Any] = dict.fromkeys(Samples._fields)
    window = Window(end_s - elapsed_s, end_s, 1)
    samples.update(times_s=[elapsed_s], windows=[window], steps_per_sample=1, first_step_s=first_step_s)
    return samples


CLEAN, DISTURBED, UNMONITORED = "clean", "disturbed", "unmonitored"


TOO_MANY = 0.2  # part of the windows that may be disturbed in a clean repetition: the median passes over them


def medians_of_parts(values: Sequence[float], most: int) -> List[float]:
    """The values, or where there are more than `most`, the medians of so many equal parts of them, in order."""
    if len(values) <= most:
        return list(values)
    bounds = [len(values) * part // most for part in range(most + 1)]
    return [median(values[start:end]) for start, end in zip(bounds, bounds[1:])]
