"""Bars and sparklines in text: Unicode block elements, or ASCII if they cannot be shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from rich.console import Console

_EIGHTHS = " ▏▎▍▌▋▊▉█"  # a character filled from the left by 0 to 8 eighths
_LEVELS = "▁▂▃▄▅▆▇█"
_PLAIN, _PLAIN_LEVELS = "#", "_.-:=+*#"
_UNKNOWN = " "


def shows_blocks(console: Console) -> bool:
    """Return whether the console is a terminal whose encoding has block elements."""
    if not console.is_terminal or console.is_dumb_terminal:
        return False
    try:
        (_EIGHTHS + _LEVELS).encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def bar(share: float, width: int, *, plain: bool = False) -> str:
    """Return a bar of the fraction `share` (0 to 1) of `width` characters, in eighths of a character unless `plain`.

    Values above 0 have a visible bar. The bar of NaN is empty.
    """
    if not share > 0:
        return ""
    part = min(share, 1.0) * width
    if plain:
        return _PLAIN * max(1, round(part))
    whole, eighths = divmod(max(1, round(8 * part)), 8)
    return _EIGHTHS[8] * whole + _EIGHTHS[eighths] * (eighths > 0)


def sparkline(values: Sequence[float], limits: tuple[float, float] | None = None, *, plain: bool = False) -> str:
    """Return a character per value, on the scale of `limits`, by default the range of the finite values.

    Equal values are at half height, NaN and infinity are spaces, and values beyond a limit are drawn at the limit.
    """
    levels = _PLAIN_LEVELS if plain else _LEVELS
    known = [value for value in values if math.isfinite(value)]
    low, high = limits or (min(known, default=0.0), max(known, default=0.0))
    return "".join(levels[_level(value, low, high)] if math.isfinite(value) else _UNKNOWN for value in values)


def around(values: Sequence[float], narrowest: float) -> tuple[float, float]:
    """Return the range of the values, widened to at least `narrowest` as a fraction of the median."""
    low, high = min(values), max(values)
    spare = max(0.0, narrowest * abs(median(values)) - (high - low)) / 2
    return low - spare, high + spare


def _level(value: float, low: float, high: float) -> int:
    """Return a level from 0 to 7."""
    if not 0 < high - low < math.inf:
        return 3
    return min(7, int(8 * (min(max(value, low), high) - low) / (high - low)))
