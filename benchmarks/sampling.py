"""What the harness itself adds, and whether its medians are those of torch.utils.benchmark: `make bench-sampling`.

The same step is timed by both in turn, in one process; nothing else should run meanwhile. A few minutes.
"""

from __future__ import annotations

import statistics

import torch
from torch.utils.benchmark import Timer

from hpcbench.node.sampling import measure
from hpcbench.node.stopping import Settings

ROUNDS = 15
SECONDS = 1.0
SETTINGS = Settings(precision=1e-9, min_samples=10, min_time_s=SECONDS, max_time_s=SECONDS, max_warmup_s=0.2)


def nothing() -> None:
    pass


def agreement(name: str, module: torch.nn.Module, batch: torch.Tensor) -> None:
    """Print the ratio of the two medians: its own median over rounds, for the machine may change speed between them."""
    module.eval()

    def step() -> None:
        module(batch)

    ratios = []
    with torch.no_grad():
        step()
        timer = Timer("step()", globals={"step": step}, num_threads=1)
        for number in range(ROUNDS):
            both = [lambda: statistics.median(measure(step, nothing, SETTINGS).times_s)]
            both.append(lambda: timer.blocked_autorange(min_run_time=SECONDS).median)
            if number % 2:  # neither is always the first
                theirs, ours = both[1](), both[0]()
            else:
                ours, theirs = both[0](), both[1]()
            ratios.append(ours / theirs)
    middle = statistics.median(ratios)
    print(f"{name:<44} {middle:>10.4f} x   goal: within 2 % ({min(ratios):.3f} to {max(ratios):.3f})", flush=True)


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
    agreement("LSTM step (milliseconds), median of ratios", torch.nn.LSTM(64, 128), torch.randn(50, 16, 64))
    agreement("linear step (microseconds)", torch.nn.Linear(64, 64), torch.randn(4, 64))
    agreement("convolution step (tens of milliseconds)", torch.nn.Conv2d(16, 64, 3), torch.randn(16, 16, 112, 112))


if __name__ == "__main__":
    main()
