"""How the time of a round of calls is measured on a device."""

import time
from abc import ABC, abstractmethod
from statistics import median
from typing import Any, List, Optional

import torch

from ....host.caches import last_level_bytes
from ....host.sysfs import this_system
from ....measurement import timing
from ....measurement.stopping_rules import Settings, Stopping
from .replay import Round

_SHORTEST_S = 1e-3  # of a measurement of a GPU: its events have a resolution of 0.5 us, which is 0.05 %
_LONGEST_QUEUE = 500  # calls; the queue of CUDA takes about a thousand, and then makes the host wait
# The sleep of the GPU before a measurement, relative to the launch of its calls: the GPU must never wait for the host,
# also if the host is interrupted.
_AHEAD = 3.0
# Copies of the arguments of an operator. Making one takes about 1e-5 s, so the most take less than 0.1 s. On GPUs, a
# round has up to two calls for each copy: one may restore the values of its arguments.
_MOST_COPIES_ON_CPUS, _MOST_COPIES_ON_GPUS = 4096, _LONGEST_QUEUE // 2
# Measurements: the fewest of which the lowest and highest are a 95 % CI of the median, since 1 - 2 / 2**6 = 0.97.
FEWEST_MEASUREMENTS = 6
_UNKNOWN_L2_BYTES = 2**27  # the L2 cache of no GPU of NVIDIA is larger so far
_CALIBRATION_CYCLES = 10_000_000  # of a sleep of the GPU: some 5 ms
_TRIALS = 5  # measurements of which a median is taken, so that one interrupted trial, or two, do not count


class Timer(ABC):
    """Measures rounds of calls on one kind of device."""

    cache_bytes: int  # of the last-level cache
    most_copies: int  # of the arguments of an operator, each with a call in a round
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


class CpuTimer(Timer):
    """Calls have run when they return: their time is that of the monotonic clock."""

    most_copies, runs_at_once = _MOST_COPIES_ON_CPUS, True

    def __init__(self) -> None:
        self.cache_bytes = last_level_bytes(this_system())

    def times_s(self, calls: Round, settings: Settings) -> List[float]:
        measured = timing.measure(step_of(calls), _nothing, settings).times_s
        return [each_s / calls.size for each_s in measured if each_s is not None]

    def host_s(self, calls: Round) -> Optional[float]:
        return None

    def synchronize(self) -> None:
        return


class CudaTimer(Timer):
    """Calls are queued behind a sleep of the GPU, so that they follow one another without waiting for the host.

    The time of the device is that between two events in the queue.
    """

    most_copies, runs_at_once = _MOST_COPIES_ON_GPUS, False

    def __init__(self, device: Any) -> None:
        properties = torch.cuda.get_device_properties(device)
        # Older versions of PyTorch do not have it.
        self.cache_bytes = int(getattr(properties, "L2_cache_size", _UNKNOWN_L2_BYTES))
        self._slept_s(_CALIBRATION_CYCLES)  # the first sleep loads its kernel
        self._cycles_per_s = _CALIBRATION_CYCLES / min(self._slept_s(_CALIBRATION_CYCLES) for _ in range(_TRIALS))

    def times_s(self, calls: Round, settings: Settings) -> List[float]:
        start_s = time.monotonic()
        launched_s = median(self._launched_s(calls) for _ in range(_TRIALS))
        once_s = median(self._queued(calls, 1, launched_s) for _ in range(_TRIALS))
        most = max(1, _LONGEST_QUEUE // len(calls.calls))
        rounds = max(1, min(most, round(_SHORTEST_S / max(once_s, 1e-9))))
        fewest = min(FEWEST_MEASUREMENTS, settings.min_measurements)
        stopping = Stopping(settings)
        times: List[float] = []
        while len(times) < fewest or not stopping.reason(times, time.monotonic() - start_s):
            times.append(self._queued(calls, rounds, launched_s) / calls.size)
        return times

    def host_s(self, calls: Round) -> Optional[float]:
        return median(self._launched_s(calls) for _ in range(_TRIALS)) / calls.size

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def _queued(self, calls: Round, rounds: int, launched_s: float) -> float:
        """Return the time of the device for one round in s; the host launches one in about `launched_s` seconds."""
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(int(_AHEAD * rounds * launched_s * self._cycles_per_s))
        start.record()
        for _ in range(rounds):
            step_of(calls)()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) * 1e-3 / rounds

    def _slept_s(self, cycles: int) -> float:
        """Return how long a sleep of the GPU takes at its present clock, in seconds."""
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        torch.cuda._sleep(cycles)
        end.record()
        end.synchronize()
        return max(1e-9, float(start.elapsed_time(end)) * 1e-3)

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
