"""How the time of a round of calls is measured on a device."""

import time
from abc import ABC, abstractmethod
from statistics import median
from typing import Any, List, Optional

import torch

from ....host.caches import last_level_bytes
from ....host.sysfs import this_system
from ....worker import timing
from ....worker.stopping_rules import Settings, Stopping
from .replay import Round

_SHORTEST_S = 1e-3  # of a measurement of a GPU: its events have a resolution of 0.5 us, which is 0.05 %
_LONGEST_QUEUE = 500  # calls; the queue of CUDA takes about a thousand, and then makes the host wait
# The sleep of the GPU before a measurement, relative to the launch of its calls: the GPU must never wait for the host,
# also if the host is interrupted.
_AHEAD = 3.0
_TRIALS = 5  # measurements of which a median is taken, so that one interrupted trial, or two, do not count


class Clock(ABC):
    """Measures rounds of calls on one kind of device."""

    cache_bytes: int  # of the last-level cache
    runs_at_once: bool  # whether a call has run when it returns, so that calls can be timed in real steps

    @abstractmethod
    def times_s(self, calls: Round, settings: Settings) -> List[float]:
        """Return measurements of the device's time for one call, in seconds."""

    @abstractmethod
    def host_s(self, calls: Round) -> Optional[float]:
        """Return the median time of the host to launch one call; None if launch and execution are one."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until the device has finished all work."""


class CpuClock(Clock):
    """Calls have run when they return: their time is that of the monotonic clock."""

    runs_at_once = True

    def __init__(self) -> None:
        self.cache_bytes = last_level_bytes(this_system())

    def times_s(self, calls: Round, settings: Settings) -> List[float]:
        measured = timing.measure(step_of(calls), _nothing, settings).times_s
        return [each_s / calls.size for each_s in measured if each_s is not None]

    def host_s(self, calls: Round) -> Optional[float]:
        return None

    def synchronize(self) -> None:
        return


class CudaClock(Clock):
    """Calls are queued behind a sleep of the GPU, so that they follow one another without waiting for the host.

    The time of the device is that between two events in the queue.
    """

    runs_at_once = False

    def __init__(self, device: Any) -> None:
        properties = torch.cuda.get_device_properties(device)
        self.cache_bytes = int(properties.L2_cache_size)
        self._cycles_per_s = 1e3 * properties.clock_rate

    def times_s(self, calls: Round, settings: Settings) -> List[float]:
        once_s = median(self._queued(calls, 1) for _ in range(_TRIALS))
        most = max(1, _LONGEST_QUEUE // len(calls.calls))
        rounds = max(1, min(most, round(_SHORTEST_S / max(once_s, 1e-9))))
        stopping, spent_s = Stopping(settings), 0.0
        times: List[float] = []
        while not stopping.reason(times, spent_s):
            times.append(self._queued(calls, rounds) / calls.size)
            spent_s += times[-1] * calls.size * rounds
        return times

    def host_s(self, calls: Round) -> Optional[float]:
        return median(self._launched_s(calls) for _ in range(_TRIALS)) / calls.size

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def _queued(self, calls: Round, rounds: int) -> float:
        """Return the time of the device for one round, in seconds."""
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(int(_AHEAD * rounds * self._launched_s(calls) * self._cycles_per_s))
        start.record()
        for _ in range(rounds):
            step_of(calls)()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) * 1e-3 / rounds

    def _launched_s(self, calls: Round) -> float:
        """Return the time of the host to launch one round, in seconds."""
        self.synchronize()
        start_s = time.monotonic()
        step_of(calls)()
        launched_s = time.monotonic() - start_s
        self.synchronize()
        return launched_s


def step_of(calls: Round) -> Any:
    """Return a function that makes all calls of a round."""
    if len(calls.calls) == 1:
        return calls.calls[0]

    def step() -> None:
        for call in calls.calls:
            call()

    return step


def _nothing() -> None:
    return
