"""The cost of hpcbench_probe per step, compared with the same loop without it, in alternation.

Prints one line per case: the time that the probe adds to a step, and the fraction of a step of 5 ms. A step waits for
the clock, so that the frequency of the CPU does not matter. Empty loops show the cost more precisely. On a shared
CPU, other programs evict code from the caches during 5 ms. A loop that only stores its times in a list shows this cost.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "probe"))

STEP_S = 0.005
EMPTY_STEPS, EMPTY_ROUNDS = 50_000, 15
LONG_STEPS, LONG_ROUNDS = 1_000, 5

Loop = Callable[[Iterable[int], Callable[[], None]], None]


def bare(loader: Iterable[int], work: Callable[[], None]) -> None:
    for _ in loader:
        work()


def with_a_list(loader: Iterable[int], work: Callable[[], None]) -> None:
    clock, times, start = time.monotonic, [], time.monotonic()
    for _ in loader:
        ready = clock()
        work()
        end = clock()
        times += (start, ready, end)
        start = end


def of_loader(probe: Any) -> Loop:
    def loop(loader: Iterable[int], work: Callable[[], None]) -> None:
        for _ in probe(loader, items=64):
            work()

    return loop


def of_blocks(probe: Any) -> Loop:
    def loop(loader: Iterable[int], work: Callable[[], None]) -> None:
        for _ in loader:
            with probe.step(items=64):
                work()

    return loop


def with_a_phase(probe: Any) -> Loop:
    def loop(loader: Iterable[int], work: Callable[[], None]) -> None:
        for _ in probe(loader, items=64):
            with probe.phase("forward"):
                work()

    return loop


def with_a_log(probe: Any) -> Loop:
    def loop(loader: Iterable[int], work: Callable[[], None]) -> None:
        for _ in probe(loader, items=64):
            work()
            probe.log(loss=0.5)

    return loop


def nothing() -> None:
    return None


def spin() -> None:
    end = time.perf_counter() + STEP_S
    while time.perf_counter() < end:
        pass


def elapsed_s(loop: Loop, steps: int, work: Callable[[], None]) -> float:
    start = time.perf_counter()
    loop(range(steps), work)
    return (time.perf_counter() - start) / steps


def added_s(loop: Loop, steps: int, rounds: int, work: Callable[[], None]) -> float:
    """Return the median over rounds of the time that a loop adds to a step, in s."""
    return median(elapsed_s(loop, steps, work) - elapsed_s(bare, steps, work) for _ in range(rounds))


def main() -> None:
    from hpcbench_probe import Probe

    outside = Probe()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HPCBENCH_RUN"] = folder
        inside = Probe()
        for title, probe in (("outside hpcbench", outside), ("recording", inside)):
            for loop in (of_loader, of_blocks, with_a_phase, with_a_log):
                empty_s = added_s(loop(probe), EMPTY_STEPS, EMPTY_ROUNDS, nothing)
                print(f"{title:16}  {loop.__name__.replace('_', ' '):12}  {empty_s * 1e6:6.2f} us per step")
        for title, loop in (("no probe", bare), ("times in a list", with_a_list), ("recording", of_loader(inside))):
            long_s = added_s(loop, LONG_STEPS, LONG_ROUNDS, spin)
            print(f"{title:16}  steps of 5 ms  {100 * long_s / STEP_S:6.3f} % more")


if __name__ == "__main__":
    main()
