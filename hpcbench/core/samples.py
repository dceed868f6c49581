"""The measurements of one run, as a worker takes them and a record holds them."""

from statistics import median
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

SAMPLES = "times_s"  # the field of Samples and of records, and the column of these arrays in tables


class Window(NamedTuple):
    """The time window of a few measurements, in seconds of CLOCK_MONOTONIC of the node, which the monitor uses, too."""

    start_s: float
    end_s: float
    samples: int


class Samples(NamedTuple):
    """The measurements of one run. `times_s` are seconds per step, in the order of measurement."""

    times_s: List[float]
    windows: List[Window]
    steps_per_sample: int
    stopped: str  # a reason of worker/stopping_rules.py
    clock_cost_s: float  # of reading the clock and synchronizing an idle device
    first_step_s: float
    warmup_steps: int  # including the first step
    warmup_s: float
    steady: bool  # whether the warm-up ended because the step time was steady
    drift: float  # trend from the first to the last measurement, as a fraction of the median; 0 without a trend

    def as_record(self) -> Dict[str, Any]:
        """Return the measurements as a dict, as a record holds them."""
        return dict(self._asdict())


def of_whole(elapsed_s: float, end_s: float, first_step_s: Optional[float]) -> Dict[str, Any]:
    """Return the measurements of a run with one measurement: its total time, `elapsed_s` seconds until `end_s`.

    Fields that do not apply are None.
    """
    samples: Dict[str, Any] = dict.fromkeys(Samples._fields)
    window = Window(end_s - elapsed_s, end_s, 1)
    samples.update(times_s=[elapsed_s], windows=[window], steps_per_sample=1, first_step_s=first_step_s)
    return samples


CLEAN, DISTURBED, UNMONITORED = "clean", "disturbed", "unmonitored"


TOO_MANY = 0.2  # fraction of windows with interference in a clean run: the median is robust against them


def medians_of_parts(values: Sequence[float], most: int) -> List[float]:
    """Return the values, or, if there are more than `most`, the medians of `most` equal chunks of them, in order."""
    if len(values) <= most:
        return list(values)
    bounds = [len(values) * part // most for part in range(most + 1)]
    return [median(values[start:end]) for start, end in zip(bounds, bounds[1:])]
