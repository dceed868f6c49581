"""Noise of many kinds, for trials of what the analysis makes of it: times of repetitions whose true time is 1.

Each kind gives an array of trials x repetitions x samples; the repetitions are in the order of time.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

Floats = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int, int], Floats]

SAMPLES = 100
WITHIN, BETWEEN = 0.01, 0.005  # noise of 1 %: of the samples of a run, and from run to run on top of it
CASES = 8  # of a sweep, whose repetitions take turns
MODE = 0.4  # how much longer the slow one of two modes takes
RECORDED = Path(__file__).with_name("recorded-steps.csv.gz")


def independent(generator: np.random.Generator, trials: int, runs: int) -> Floats:
    """Normal noise of 1 %."""
    return 1 + generator.normal(0, BETWEEN, (trials, runs, 1)) + generator.normal(0, WITHIN, (trials, runs, SAMPLES))


def heavy_tails(generator: np.random.Generator, trials: int, runs: int) -> Floats:
    """The same by Student's t with 3 degrees of freedom."""
    between, within = generator.standard_t(3, (trials, runs, 1)), generator.standard_t(3, (trials, runs, SAMPLES))
    return 1 + (BETWEEN * between + WITHIN * within) / np.sqrt(3)


def drift(generator: np.random.Generator, trials: int, runs: int) -> Floats:
    """Each process slows down or speeds up by some per cent; and both sweeps begin on a cold machine, 1 % slower."""
    warming = np.tile(0.01 * np.exp(-np.arange(runs // 2)), 2)[:, None]
    slope = generator.normal(0, 0.02, (trials, runs, 1)) * np.linspace(-0.5, 0.5, SAMPLES)
    return independent(generator, trials, runs) + warming + slope


def autocorrelated(generator: np.random.Generator, trials: int, runs: int) -> Floats:
    """A first-order process of samples, with a correlation of 0.9 from one to the next."""
    steps = generator.normal(0, WITHIN * np.sqrt(1 - 0.9**2), (trials, runs, SAMPLES + 100))
    return 1 + generator.normal(0, BETWEEN, (trials, runs, 1)) + lfilter([1.0], [1.0, -0.9], steps)[..., 100:]


def from_run_to_run(generator: np.random.Generator, trials: int, runs: int) -> Floats:
    """All of the 1 % from run to run, where more samples do not help."""
    return 1 + generator.normal(0, 0.01, (trials, runs, 1)) + np.zeros(SAMPLES)


def loud(generator: np.random.Generator, trials: int, runs: int) -> Floats:
    """Normal noise of 10 % from run to run, far beyond any margin."""
    return 1 + generator.normal(0, 0.1, (trials, runs, 1)) + np.zeros(SAMPLES)


def two_modes_of_samples(generator: np.random.Generator, trials: int, runs: int) -> Floats:
    """By chance, every second sample takes 40 % longer: the median of a run is now in one mode, now in the other."""
    return independent(generator, trials, runs) * _slow(generator.random((trials, runs, SAMPLES)) < 0.5)


def two_modes_that_last(generator: np.random.Generator, trials: int, runs: int) -> Floats:
    """The mode changes within a run, once in 100 samples."""
    changes = generator.random((trials, runs, SAMPLES)) < 1 / SAMPLES
    first = generator.integers(0, 2, (trials, runs, 1))
    return independent(generator, trials, runs) * _slow((first + changes.cumsum(axis=-1)) % 2 == 1)


def two_modes_of_processes(generator: np.random.Generator, trials: int, runs: int) -> Floats:
    """By chance, every second process takes 40 % longer, from its first sample to its last."""
    return independent(generator, trials, runs) * _slow(generator.random((trials, runs, 1)) < 0.5)


def one_process_in_ten(generator: np.random.Generator, trials: int, runs: int) -> Floats:
    """is with_interference, and 30 % slower on average."""
    with_interference = generator.exponential(0.3, (trials, runs, 1)) * (generator.random((trials, runs, 1)) < 0.1)
    return independent(generator, trials, runs) * (1 + with_interference)


def recorded(generator: np.random.Generator, trials: int, runs: int) -> Floats:
    """A real step on a busy machine: processes drawn without replacement."""
    steps = recorded_steps()
    return steps[np.stack([generator.permutation(len(steps))[:runs] for _ in range(trials)])]


def recorded_in_sweeps(generator: np.random.Generator, trials: int, runs: int) -> Floats:
    """The same in the order of time, as two sweeps of several cases take turns: NEW begins when BASE has ended."""
    return _in_turn(generator, trials, runs, min(CASES, len(recorded_steps()) // runs))


def recorded_back_to_back(generator: np.random.Generator, trials: int, runs: int) -> Floats:
    """The same of a single case: five processes, and the five that follow. The machine itself changes in between."""
    return _in_turn(generator, trials, runs, 1)


def recorded_steps() -> Floats:
    """One row for each process, in the order of time: seconds over the median of all.

    A training step of a small network in PyTorch 2.13 on one core of a virtual machine with two (Intel Xeon, Debian
    12), where other programs ran meanwhile and the hypervisor changes the speed by some 40 %.
    """
    steps: Floats = np.loadtxt(RECORDED, delimiter=",")
    return steps / np.median(steps)


def _in_turn(generator: np.random.Generator, trials: int, runs: int, cases: int) -> Floats:
    steps = recorded_steps()
    first = generator.integers(0, len(steps) - cases * (runs - 1), trials)
    return steps[first[:, None] + cases * np.arange(runs)]


def _slow(where: NDArray[np.bool_]) -> Floats:
    return 1 + MODE * where
