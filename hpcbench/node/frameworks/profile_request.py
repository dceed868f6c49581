"""What a worker asks the operator profiler of a framework for."""

from typing import NamedTuple, Optional, Sequence, Tuple

from ..measurement.stopping_rules import Settings


class ProfileRequest(NamedTuple):
    """How to profile a network that has been measured."""

    settings: Settings  # of the measurement of the network
    step_times_s: Sequence[float]  # its measurements
    measured_s: Tuple[Optional[float], Optional[float]] = (None, None)  # their start and end, on the monotonic clock
    windows: int = 0  # the number of operators that get a power window
    window_s: float = 0.0  # how long a power window lasts
