"""What it does to an interval that sampling stops when it is narrow enough: `make bench-comparing`, a minute.

An interval holds the median in 95 of 100 cases where the number of samples is fixed beforehand. Stopping because it is
narrow prefers those that are narrow by chance (Chow and Robbins, 1965, "On the asymptotic theory of fixed-width
sequential confidence intervals for the mean"), and dependence that few samples do not show makes many of them so.
"""

from __future__ import annotations

import math
from statistics import mean, median
from typing import NamedTuple

import numpy as np
from intervals import autoregressive, in_words
from noise import Floats

from hpcbench.analysis.stats.intervals import median_interval
from hpcbench.config.experiment import Measure
from hpcbench.node.measurement.stopping_rules import PRECISION, Settings, Stopping
from hpcbench.node.measurement.timing import WINDOW_S

CASES = 300
RUNS = Measure().repetitions
SPREAD = 0.01  # of the samples of a run; their median is 1
STEPS_S = (0.002, 0.02, 0.1, 0.3)
NOISE = ((0.0, math.inf), (0.0, 3.0), (0.3, math.inf), (0.6, math.inf), (0.9, math.inf))
SETTINGS = Settings(**Measure().model_dump(include=set(Settings._fields)))


def series(generator: np.random.Generator, size: int, coefficient: float, tails: float) -> Floats:
    return 1 + SPREAD * math.sqrt(1 - coefficient**2) * autoregressive(generator, size, coefficient, tails)


def stopped(samples: Floats, step_s: float) -> tuple[int, str]:
    """After how many samples a step of this length stops being measured, looked at as often as in a run; and why."""
    stopping, each = Stopping(SETTINGS), max(1, math.ceil(WINDOW_S / step_s))
    times: list[float] = samples.tolist()
    for count in range(each, len(times) + each, each):
        reason = stopping.reason(times[:count], count * step_s)
        if reason:
            return count, reason
    raise AssertionError("the time is spent by then")


def holds(runs: list[Floats]) -> bool:
    """Whether the interval that a report gives holds the median."""
    found = median_interval(runs)
    return found.low is not None and found.high is not None and found.low <= 1 <= found.high


class Trials(NamedTuple):
    """Of runs of one kind: after how many samples the precise ones stopped, and which intervals hold the median."""

    counts: list[int]
    one: list[bool]  # that of one run which stopped because it was precise
    fixed: list[bool]  # that of as many samples as it took, of another run
    together: list[bool]  # that of all runs of a case, whatever each stopped for


def trials(generator: np.random.Generator, coefficient: float, tails: float, step_s: float) -> Trials:
    size = math.ceil((SETTINGS.max_time_s + WINDOW_S) / step_s)
    found = Trials([], [], [], [])
    for _ in range(CASES):
        runs = [series(generator, size, coefficient, tails) for _ in range(RUNS)]
        ends = [stopped(run, step_s) for run in runs]
        taken = [run[:count] for run, (count, _) in zip(runs, ends, strict=True)]
        found.together.append(holds(taken))
        count, reason = ends[0]
        if reason == PRECISION:
            found.counts.append(count)
            found.one.append(holds(taken[:1]))
            found.fixed.append(holds([series(generator, count, coefficient, tails)]))
    return found


def main() -> None:
    generator = np.random.default_rng(1)
    print(f"\n{CASES} cases each of {RUNS} runs that end at a precision of {SETTINGS.precision:.0%}, or after ", end="")
    print(f"{SETTINGS.max_time_s:.0f} s; how often a 95 % interval holds the median")
    print(f"{'samples, with a correlation of':<34}{'step':>8}{'precise':>9}{'measurements':>9}", end="")
    print(f"{'one run':>10}{'n fixed':>10}{f'{RUNS} runs':>10}")
    for coefficient, tails in NOISE:
        for step_s in STEPS_S:
            found = trials(generator, coefficient, tails, step_s)
            print(f"{in_words(coefficient, tails):<34}{step_s:>6} s{len(found.counts) / CASES:>9.0%}", end="")
            print(f"{median(found.counts):>9.0f}" if found.counts else f"{'-':>9}", end="")
            intervals = (found.one, found.fixed, found.together)
            print("".join(f"{mean(held):>10.1%}" if held else f"{'-':>10}" for held in intervals), flush=True)


if __name__ == "__main__":
    main()
