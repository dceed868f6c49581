"""The measurements of one run, as a worker takes them and a record holds them."""

from dataclasses import dataclass
from typing import List, NamedTuple, Optional, Sequence

from .record_field import described

PROBED = "probed_steps"  # column: the steps of a command that hpcbench_probe recorded; its times are of these steps
Z_95 = 1.959964  # of the normal distribution, two-sided: a CI of 95 %, or a test at 5 %
SAMPLES = "times_s"  # the field of Samples and of records, and the column of these arrays in tables


class Window(NamedTuple):
    """The time window of a few measurements, in seconds of CLOCK_MONOTONIC of the node, which the monitor uses, too."""

    start_s: float
    end_s: float
    samples: int


@dataclass(frozen=True)
class Samples:
    """The measurements of one run. Fields that do not apply to a run with a single measurement are null."""

    times_s: Sequence[Optional[float]] = described("seconds per step, in the order of measurement")
    windows: Sequence[Window] = described(
        "time windows: start and end in s on the node's monotonic clock, and number of measurements"
    )
    steps_per_measurement: int = described("steps in one timed block", "steps_per_measurement")
    stopped: Optional[str] = described(
        "why measuring stopped: `precision`, `settled`, `max_time` or `max_measurements`", "stopped", default=None
    )
    clock_cost_s: Optional[float] = described("time to read the clock and synchronize an idle device", default=None)
    first_step_s: Optional[float] = described("time of the first step", "first_step_s", "s", default=None)
    warmup_steps: Optional[int] = described("steps before the measurements", "warmup_steps", default=None)
    warmup_s: Optional[float] = described("time of the warm-up", default=None)
    steady: Optional[bool] = described(
        "whether the warm-up ended because the step time was steady", "steady", default=None
    )
    drift: Optional[float] = described(
        "trend from the first to the last measurement, as a fraction of the median; 0 without a trend",
        "drift",
        default=None,
    )


def of_whole(elapsed_s: float, start_s: float, end_s: float, first_step_s: Optional[float]) -> Samples:
    """Return the measurements of a run with one measurement: its time, which may lack parts of its window."""
    return Samples([elapsed_s], [Window(start_s, end_s, 1)], 1, first_step_s=first_step_s)


def harmonic_mean(times_s: Sequence[float]) -> float:
    """Return the harmonic mean, in s; 0 if one is 0 s. It is the mean step time of independent ranks."""
    return len(times_s) / sum(1 / time_s for time_s in times_s) if all(times_s) else 0.0


CLEAN, INTERFERENCE, UNMONITORED = "clean", "interference", "unmonitored"
THROTTLING = "throttling"  # a cause of interference: a CPU quota, heat or a power brake slowed the run down


TOO_MANY = 0.2  # fraction of windows with interference in a clean run: the median is robust against them


def medians_of_parts(values: Sequence[float], most: int) -> List[float]:
    """Return the values, or, if there are more than `most`, the medians of `most` equal chunks of them, in order."""
    if len(values) <= most:
        return list(values)
    from statistics import median  # takes long to import, and a rank does not need it

    bounds = [len(values) * part // most for part in range(most + 1)]
    return [median(values[start:end]) for start, end in zip(bounds, bounds[1:])]
