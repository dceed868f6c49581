"""The share of all other configurations that each one beats: what a setting is worth among all that could be chosen."""

from __future__ import annotations

import numpy as np

from hpcbench.analysis.stats.intervals import Floats


def beaten(low: Floats, high: Floats) -> Floats:
    """For each configuration, which part of the others takes longer, of the limits of their times in any unit.

    One whose interval lies above counts whole; one whose interval overlaps is a tie and counts half, and so does any
    where limits are not known (not a number). So 0.5 is what a setting drawn at random has, or one that noise
    hides; it is the probability of superiority over the others (Mann and Whitney, 1947, "On a test of whether one of
    two random variables is stochastically larger than the other", Annals of Mathematical Statistics 18, U over the
    number of pairs). A single configuration has none to beat: not a number.
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
