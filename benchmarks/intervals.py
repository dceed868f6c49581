"""How often the interval of a single run holds the true median: `make bench-comparing`, half a minute.

Beside it, that of a circular block bootstrap (Politis and Romano, 1992) whose block length is found automatically, on
the signs of the samples (Politis and White, 2004; corrected by Patton, Politis and White, 2009); and that of samples
whose autocorrelation is ignored.
"""

from __future__ import annotations

import math

import numpy as np
from noise import Floats
from scipy.signal import lfilter

from hpcbench.analysis.stats.intervals import median_interval

TRIALS = 500
SIZES = (30, 100, 300, 1000)
RESAMPLES = 400


def autoregressive(generator: np.random.Generator, size: int, coefficient: float, tails: float = math.inf) -> Floats:
    """A first-order process whose innovations are Student's t with `tails` degrees of freedom; its median is 0."""
    normal = math.isinf(tails)
    steps = generator.normal(size=size + 200) if normal else generator.standard_t(tails, size + 200)
    series: Floats = lfilter([1.0], [1.0, -coefficient], steps)[200:]
    return series


def in_words(coefficient: float, tails: float) -> str:
    return f"{coefficient}" + ("" if math.isinf(tails) else f", t with {tails:.0f} degrees of freedom")


def block_interval(generator: np.random.Generator, samples: Floats) -> tuple[float, float]:
    """The limits of 95 % by the circular block bootstrap."""
    length = block_length(samples > np.median(samples))
    starts = generator.integers(0, samples.size, (RESAMPLES, -(-samples.size // length), 1))
    places = ((starts + np.arange(length)) % samples.size).reshape(RESAMPLES, -1)[:, : samples.size]
    low, high = np.quantile(np.median(samples[places], axis=1), [0.025, 0.975])
    return float(low), float(high)


def block_length(signs: Floats) -> int:
    """Politis and White's, with a flat-top lag window."""
    size = signs.size
    series = signs - signs.mean()
    covariances = np.correlate(series, series, "full")[size - 1 :] / size
    small = np.abs(covariances / covariances[0]) < 2 * math.sqrt(math.log10(size) / size)
    most = math.ceil(math.sqrt(size)) + 5
    last = next((lag for lag in range(most) if small[lag + 1 : lag + 6].all()), most)
    if last == 0:
        return 1
    lags = np.arange(1, min(2 * last, size - 1) + 1)
    window = np.minimum(1, 2 * (1 - lags / lags[-1])) * covariances[lags]
    spectrum, slope = covariances[0] + 2 * window.sum(), 2 * (lags * window).sum()
    longest = math.ceil(min(3 * math.sqrt(size), size / 3))
    if spectrum <= 0:
        return longest
    best = (2 * slope**2 / (4 / 3 * spectrum**2)) ** (1 / 3) * size ** (1 / 3)
    return min(max(1, math.ceil(best)), longest)


def main() -> None:
    generator = np.random.default_rng(1)
    print(f"\n{TRIALS} trials each: how often the 95 % interval of one run holds the median")
    print(f"{'samples, with a correlation of':<34}{'n':>6}{'hpcbench':>12}{'blocks':>10}{'ignored':>10}")
    for coefficient, tails in ((0.0, math.inf), (0.0, 2), (0.3, math.inf), (0.6, math.inf), (0.6, 3), (0.9, math.inf)):
        for size in SIZES:
            held = np.zeros(3)
            for _ in range(TRIALS):
                samples = autoregressive(generator, size, coefficient, tails)
                own, ignored = median_interval([samples]), median_interval([generator.permutation(samples)])
                limits = ((own.low, own.high), block_interval(generator, samples), (ignored.low, ignored.high))
                held += [low <= 0 <= high for low, high in limits]
            print(
                f"{in_words(coefficient, tails):<34}{size:>6}"
                + "".join(f"{100 * count / TRIALS:>9.1f} %" for count in held),
                flush=True,
            )


if __name__ == "__main__":
    main()
