"""A row of characters for a series of values: what a terminal has for a plot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN = "_.-=+*^"  # for a pipe, and for terminals without those
NARROWEST = 0.1  # of the median: what differs by less should not look like much


def sparkline(values: Sequence[float], width: int, characters: str) -> str:
    """One character for each value, or for the median of several where there are more than `width`."""
    parts = np.array_split(np.asarray(values, dtype=np.float64), min(width, len(values)))
    heights = np.array([np.median(part) for part in parts])
    middle = (heights.max() + heights.min()) / 2
    span = max(float(np.ptp(heights)), NARROWEST * abs(float(np.median(heights))))
    if not 0 < span < np.inf:
        return characters[len(characters) // 2] * heights.size
    levels = np.floor(((heights - middle) / span + 0.5) * len(characters)).astype(int)
    return "".join(characters[level] for level in levels.clip(0, len(characters) - 1))
