"""The probability of superiority: the fraction of other configurations that each one beats."""

from __future__ import annotations

import numpy as np

from hpcbench.analysis.stats.intervals import Floats


def beaten(low: Floats, high: Floats) -> Floats:
    """Return for each configuration the fraction of the others that are slower, from the limits of their times.

    A configuration whose interval lies above counts 1; one whose interval overlaps or is unknown (NaN) counts 1/2. So
    the mean over all configurations is 0.5. This is the probability of superiority (Mann and Whitney, 1947, "On a test
    of whether one of two random variables is stochastically larger than the other", Annals of Mathematical Statistics
    18; U over the number of pairs). The result is NaN for a single configuration.
    """
    others = low.size - 1
    if others < 1:
        return np.full(low.size, np.nan)
    known = ~(np.isnan(low) | np.isnan(high))
    low, high = np.where(known, low, -np.inf), np.where(known, high, np.inf)
    slower = low.size - np.searchsorted(np.sort(low), high, side="right")
    faster = np.searchsorted(np.sort(high), low, side="left")
    shares: Floats = (others + slower - faster) / (2 * others)
    return shares
