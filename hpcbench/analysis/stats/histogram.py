"""Histograms with bins of equal width, or of equal ratio for a wide range.

The width is that of Freedman and Diaconis (1981, "On the histogram as a density estimator: L2 theory", Zeitschrift für
Wahrscheinlichkeitstheorie und verwandte Gebiete 57): 2 IQR n^(-1/3), which is robust to outliers. If more than half of
the samples are equal, the IQR is zero: then there are ceil(log2 n) + 1 bins (Sturges, 1926, "The choice of a class
interval", Journal of the American Statistical Association 21).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from hpcbench.analysis.stats.intervals import Floats, quantile_of_sorted

MAX_BINS = 16  # rows of a terminal histogram
WIDE = 10.0  # ratio of largest to smallest; above, most samples would fall into the first bin of equal width


class Histogram(NamedTuple):
    """Bin k holds the `counts[k]` samples from `edges[k]` to below `edges[k + 1]`, the last bin also its upper edge."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    logarithmic: bool = False

    def bin_of(self, value: float) -> int:
        """Return the bin of a value; values outside the edges are in the first or last bin."""
        return min(max(bisect_right(self.edges, value) - 1, 0), len(self.counts) - 1)


def histogram(samples: Floats, most: int = MAX_BINS) -> Histogram:
    """Return a histogram of at most `most` bins, on a logarithmic axis if the range is at least a factor of WIDE.

    Raise ValueError without samples, or if a sample is not finite.
    """
    if samples.size == 0 or not np.isfinite(samples).all():
        raise ValueError("a histogram requires measurements, all of them finite")
    ordered = np.sort(samples)
    low, high = float(ordered[0]), float(ordered[-1])
    if low == high:
        return Histogram((low, high), (int(ordered.size),))
    logarithmic = low > 0 and high >= WIDE * low
    axis = np.log10(ordered) if logarithmic else ordered
    inner = np.linspace(axis[0], axis[-1], _bins(axis, most) + 1)[1:-1]
    edges = np.concatenate(([low], 10**inner if logarithmic else inner, [high]))
    counts, _ = np.histogram(ordered, edges)
    return Histogram(tuple(map(float, edges)), tuple(map(int, counts)), logarithmic)


def _bins(ordered: Floats, most: int) -> int:
    """Return the number of bins for sorted values that are not all equal."""
    spread = quantile_of_sorted(ordered, 0.75) - quantile_of_sorted(ordered, 0.25)
    width: float = 2 * spread * ordered.size ** (-1 / 3)
    if width <= 0:
        return min(most, math.ceil(math.log2(ordered.size)) + 1)
    wanted = float(ordered[-1] - ordered[0]) / width  # infinite for a tiny width
    return max(1, math.ceil(min(most, wanted)))
