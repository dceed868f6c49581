"""What the harness itself adds, and whether its medians are those of torch.utils.benchmark: `make bench-sampling`.

The same step is timed by both in turn, in one process; nothing else should run meanwhile. A few minutes.
"""

from __future__ import annotations

import statistics
import time

import torch
from torch.utils.benchmark import Timer

from hpcbench.node.sampling import measure
from hpcbench.node.stopping import Settings

ROUNDS = 80  # so many that those in which the machine changes its speed do not count
SECONDS = 0.2
SETTINGS = Settings(precision=1e-9, min_samples=10, min_time_s=SECONDS, max_time_s=SECONDS, max_warmup_s=0.05)


def nothing() -> None:
    pass


def ratio(module: torch.nn.Module, batch: torch.Tensor, rounds: int = ROUNDS) -> tuple[float, float, float]:
    """Median, least and largest of the ratios of the two medians, ours over theirs.

    Both take samples of as many steps: a block of thousands has an interrupt in it, one of a few mostly has not, and
    that alone makes the median of long blocks 2 to 3 % longer here.
    """
    module.eval()

    def step() -> None:
        module(batch)

    ratios = []
    with torch.no_grad():
        step()
        timer = Timer("step()", globals={"step": step}, num_threads=1)
        for number in range(rounds):
            samples = measure(step, nothing, SETTINGS)
            ours = statistics.median(samples.times_s)
            theirs = _theirs(timer, samples.steps_per_sample)
            if number % 2:  # what they are compared with is taken before them, or after them
                ours = statistics.median(measure(step, nothing, SETTINGS).times_s)
            ratios.append(ours / theirs)
    return statistics.median(ratios), min(ratios), max(ratios)


def _theirs(timer: Timer, steps: int) -> float:
    """The median of samples of so many steps, for as long as ours are taken."""
    end = time.monotonic() + SECONDS
    times = []
    while time.monotonic() < end:
        times.append(timer.timeit(steps).median)
    return statistics.median(times)


def agreement(name: str, module: torch.nn.Module, batch: torch.Tensor) -> None:
    middle, least, most = ratio(module, batch)
    print(f"{name:<44} {middle:>10.4f} x   goal: within 2 % ({least:.3f} to {most:.3f})", flush=True)


def overhead() -> None:
    """What a sample takes beyond its step: the length of a window less the times in it."""
    samples = measure(nothing, nothing, SETTINGS._replace(max_time_s=5.0, min_time_s=5.0))
    lengths = [window.end_s - window.start_s for window in samples.windows]
    taken = sum(samples.times_s) * samples.steps_per_sample
    each_us = (sum(lengths) - taken) / len(samples.times_s) * 1e6
    print(f"{'the harness adds to each sample':<44} {each_us:>9.2f} us   goal: under 2 us", flush=True)
    clock = samples.clock_cost_s / (samples.times_s[0] * samples.steps_per_sample)
    print(f"{'reading the clock, of a sample of empty steps':<44} {clock:>10.3%}     goal: under 0.1 %", flush=True)


def main() -> None:
    torch.set_num_threads(1)
    overhead()
    agreement("beside torch.utils.benchmark: LSTM, 3 ms", torch.nn.LSTM(64, 128), torch.randn(50, 16, 64))
    agreement("  a linear layer, 7 us", torch.nn.Linear(64, 64), torch.randn(4, 64))
    agreement("  a convolution, 30 ms", torch.nn.Conv2d(16, 64, 3), torch.randn(16, 16, 112, 112))


if __name__ == "__main__":
    main()
