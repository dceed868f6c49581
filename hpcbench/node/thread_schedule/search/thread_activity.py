"""Check that thread counts take effect: find the threads of this process that compute in each section.

The kernel counts the CPU time of each thread in nanoseconds; the process includes ended threads. A waiting thread of an
OpenMP team may spin, and seems as busy as one that computes. Therefore whole steps are taken with one count in all
sections until the threads of other counts sleep: then spinning threads belong to a team of this size, and threads
beyond it ignore the count.
"""

import math
import os
import threading
import time
from typing import Callable, Collection, Dict, List, NamedTuple, Optional, Sequence

import torch

from .sections import Sections

FEWEST_STEPS, LONGEST_S = 3, 0.5  # of a count
SETTLE_S = 0.25  # idle threads of LLVM's and Intel's OpenMP spin for 0.2 s (KMP_BLOCKTIME), those of libgomp for less
IDLE_S = 0.1  # in which threads that spin forever are detected; on a busy machine they get at least a fifth of it
BUSY = 0.1  # fraction of the section's time in which a thread must run to count, but at least BUSY_S
BUSY_S = 0.005  # in all steps of the section
SHARE, SHARES = 2**16, 20  # elements of an operation per thread, and how often it runs: some milliseconds per thread
OF_A_SHARE = 0.25  # fraction of a share's time in which a thread must run to count
TASKS = "/proc/self/task"
_ENDED = 0  # key of the threads that have ended


class Busy(NamedTuple):
    """The number of threads that computed in a section while `threads` were requested."""

    section: int
    threads: int
    seen: int
    side_by_side: bool = False


class CpuTimes(NamedTuple):
    """CPU times so far, in seconds."""

    by_thread: Dict[int, float]  # of existing threads
    process_s: float  # including threads that have ended


def cpu_times() -> CpuTimes:
    """Return the CPU times of this process and its threads."""
    times = {}
    for name in os.listdir(TASKS):
        thread = int(name)
        try:
            # MAKE_THREAD_CPUCLOCK(tid, CPUCLOCK_SCHED) of Linux's include/linux/posix-timers.h
            times[thread] = time.clock_gettime((~thread << 3) | 6)
        except OSError:  # it has just ended
            continue
    return CpuTimes(times, time.process_time())


class _Watch:
    """Add up the CPU time of threads in each section, except those in `excluded`."""

    def __init__(self, sections: int, excluded: Collection[int]) -> None:
        self.excluded = excluded
        self.used_s: List[Dict[int, float]] = [{} for _ in range(sections)]
        self._running: Optional[int] = None
        self._began = CpuTimes({}, 0.0)

    def on_boundary(self, begins: Optional[int]) -> None:
        now = cpu_times()
        if self._running is not None:
            self._add(self.used_s[self._running], now)
        self._running, self._began = begins, now

    def _add(self, used_s: Dict[int, float], now: CpuTimes) -> None:
        began = self._began
        used = {thread: seconds - began.by_thread.get(thread, 0.0) for thread, seconds in now.by_thread.items()}
        used[_ENDED] = now.process_s - began.process_s - sum(used.values())
        for thread in set(used) - set(self.excluded):
            seconds = used[thread]
            used_s[thread] = used_s.get(thread, 0.0) + seconds


def threads_spin_for_ever() -> bool:
    """Return whether threads of this process compute although nothing was requested."""
    time.sleep(SETTLE_S)
    began_s = time.process_time()
    time.sleep(IDLE_S)
    return time.process_time() - began_s > IDLE_S / 5


def computing(threads: int) -> int:
    """Return how many threads share an operation that is large enough for `threads` of them.

    They are fewer than were set if OMP_THREAD_LIMIT or OMP_DYNAMIC limit them, which the count of torch does not
    show.
    """
    torch.set_num_threads(1)
    alone_s = _times_of_shares(1)[threading.get_native_id()]  # others may still spin
    torch.set_num_threads(threads)
    return sum(seconds >= OF_A_SHARE * alone_s for seconds in _times_of_shares(threads).values())


def _times_of_shares(threads: int) -> Dict[int, float]:
    """Return the CPU seconds by thread for an operation with a share of elements for each thread."""
    numbers = torch.ones(threads * SHARE)
    numbers.sin_()  # starts the threads
    began = cpu_times().by_thread
    for _ in range(SHARES):
        numbers.sin_()
    return {thread: seconds - began.get(thread, 0.0) for thread, seconds in cpu_times().by_thread.items()}


def busy_threads(sections: Sections, threads: int, divided: Collection[int] = ()) -> List[Busy]:
    """Return how many threads compute in each section at this count, or in each of the `divided` ones.

    Branches compute on threads of their own. The threads of the rest of the step may still spin; their number is
    checked without divided sections.
    """
    before = set(cpu_times().by_thread) if divided else set()
    counts = [threads] * len(sections)
    settled = time.monotonic() + SETTLE_S
    while time.monotonic() < settled:
        sections.time_step(counts, divided)
    watch, wall_s = _Watch(len(sections), before), [0.0] * len(counts)
    sections.on_boundary = watch.on_boundary
    try:
        _take_steps(lambda: sections.time_step(counts, divided), wall_s)
    finally:
        sections.on_boundary = lambda section: None
    return [
        Busy(place, threads, _seen(watch.used_s[place], wall), bool(divided))
        for place, wall in enumerate(wall_s)
        if place in divided or not divided
    ]


def _seen(used_s: Dict[int, float], wall_s: float) -> int:
    """Return how many threads were busy, and for ended threads at least how many."""
    enough_s = max(BUSY_S, BUSY * wall_s)
    alive = sum(seconds >= enough_s for thread, seconds in used_s.items() if thread != _ENDED)
    ended_s = used_s.get(_ENDED, 0.0)
    return alive + (math.ceil(ended_s / wall_s) if ended_s >= enough_s else 0)


def _take_steps(time_step: Callable[[], Sequence[float]], wall_s: List[float]) -> None:
    """Run steps until every section has run long enough, or up to a limit."""
    start, steps = time.monotonic(), 0
    while steps < FEWEST_STEPS or (min(wall_s) < 4 * BUSY_S and time.monotonic() - start < LONGEST_S):
        for place, seconds in enumerate(time_step()):
            wall_s[place] += seconds
        steps += 1


def disobeying(busy: List[Busy]) -> List[Busy]:
    """Return the sections in which more threads compute than were requested."""
    return [each for each in busy if each.seen > each.threads]
