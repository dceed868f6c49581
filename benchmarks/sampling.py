"""What the harness itself adds, and whether its medians are those of torch.utils.benchmark: `make bench-sampling`.

The same step is timed by both in turn, in one process; nothing else should run meanwhile. A few minutes.
"""

from __future__ import annotations

import statistics
import time

import torch
from torch.utils.benchmark import Timer

from hpcbench.core.samples import Samples
from hpcbench.node.measurement.stopping_rules import Settings
from hpcbench.node.measurement.timing import measure

ROUNDS = 80  # so many that those in which the machine changes its speed do not count
SECONDS = 0.2
SETTINGS = Settings(precision=1e-9, min_measurements=10, min_time_s=SECONDS, max_time_s=SECONDS, max_warmup_s=0.05)


def nothing() -> None:
    pass


def ratios(module: torch.nn.Module, batch: torch.Tensor, rounds: int) -> list[float]:
    """The ratios of the two medians, ours over theirs, each of two measurements in turn.

    Both take samples of as many steps: a block of thousands has an interrupt in it, one of a few mostly has not, and
    that alone makes the median of long blocks 2 to 3 % longer here.
    """
    module.eval()

    def step() -> None:
        module(batch)

    found = []
    with torch.no_grad():
        step()
        timer = Timer("step()", globals={"step": step}, num_threads=1)
        for number in range(rounds):
            samples = measure(step, nothing, SETTINGS)
            ours = statistics.median(samples.times_s)
            theirs = _theirs(timer, samples.steps_per_measurement)
            if number % 2:  # what they are compared with is taken before them, or after them
                ours = statistics.median(measure(step, nothing, SETTINGS).times_s)
            found.append(ours / theirs)
    return found


def _theirs(timer: Timer, steps: int) -> float:
    """The median of samples of so many steps, for as long as ours are taken."""
    end = time.monotonic() + SECONDS
    times = []
    while time.monotonic() < end:
        times.append(timer.timeit(steps).median)
    return statistics.median(times)


def agreement(name: str, module: torch.nn.Module, batch: torch.Tensor) -> None:
    found = ratios(module, batch, ROUNDS)
    spread = f"({min(found):.3f} to {max(found):.3f})"
    print(f"{name:<44} {statistics.median(found):>10.4f} x   goal: within 2 % {spread}", flush=True)


def of_empty_steps(seconds: float) -> Samples:
    return measure(nothing, nothing, SETTINGS._replace(max_time_s=seconds, min_time_s=seconds))


def added_s(samples: Samples) -> list[float]:
    """What a sample takes beyond its steps, by window: until the next one begins, and in it, to read the clock."""
    found, first = [], 0
    for window in samples.windows:
        taken_s = sum(samples.times_s[first : first + window.samples]) * samples.steps_per_measurement
        found.append((window.end_s - window.start_s - taken_s) / window.samples + samples.clock_cost_s)
        first += window.samples
    return found


def overhead() -> None:
    samples = of_empty_steps(5.0)
    each_us = statistics.median(added_s(samples)) * 1e6
    print(f"{'the harness adds to each sample':<44} {each_us:>9.2f} us   goal: under 2 us", flush=True)
    clock = samples.clock_cost_s / (statistics.median(samples.times_s) * samples.steps_per_measurement)
    print(f"{'reading the clock, of a sample of empty steps':<44} {clock:>10.3%}     goal: under 0.1 %", flush=True)


def main() -> None:
    torch.set_num_threads(1)
    overhead()
    agreement("beside torch.utils.benchmark: LSTM, 3 ms", torch.nn.LSTM(64, 128), torch.randn(50, 16, 64))
    agreement("  a linear layer, 7 us", torch.nn.Linear(64, 64), torch.randn(4, 64))
    agreement("  a convolution, 30 ms", torch.nn.Conv2d(16, 64, 3), torch.randn(16, 16, 112, 112))


if __name__ == "__main__":
    main()
