"""Bars and sparklines of text: the block elements of Unicode, or plain characters where they cannot be shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from rich.console import Console

_EIGHTHS = " ▏▎▍▌▋▊▉█"  # of a character, from the left
_LEVELS = "▁▂▃▄▅▆▇█"
_PLAIN, _PLAIN_LEVELS = "#", "_.-:=+*#"
_UNKNOWN = " "


def shows_blocks(console: Console) -> bool:
    """Whether it is a terminal whose encoding has these characters. What a pipe leads to, nobody knows."""
    if not console.is_terminal or console.is_dumb_terminal:
        return False
    try:
        (_EIGHTHS + _LEVELS).encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def bar(share: float, width: int, *, plain: bool = False) -> str:
    """A bar of `share`, a part of 1, of `width` characters; of eighths of characters, unless `plain`.

    What is not nothing is seen, however little. Nothing is shown of what is no number.
    """
    if not share > 0:
        return ""
    part = min(share, 1.0) * width
    if plain:
        return _PLAIN * max(1, round(part))
    whole, eighths = divmod(max(1, round(8 * part)), 8)
    return _EIGHTHS[8] * whole + _EIGHTHS[eighths] * (eighths > 0)


def sparkline(values: Sequence[float], limits: tuple[float, float] | None = None, *, plain: bool = False) -> str:
    """A character for each value, higher for more: from the lowest of the `limits` to the highest, else of the values.

    Equal values are half as high. A blank stands for what is no number; what lies beyond a limit is shown at it.
    """
    levels = _PLAIN_LEVELS if plain else _LEVELS
    known = [value for value in values if math.isfinite(value)]
    low, high = limits or (min(known, default=0.0), max(known, default=0.0))
    return "".join(levels[_level(value, low, high)] if math.isfinite(value) else _UNKNOWN for value in values)


def around(values: Sequence[float], narrowest: float) -> tuple[float, float]:
    """Limits for a sparkline: from the lowest of some values to the highest, and no closer to each other than this part
    of their median, so that what differs by little does not look like much."""
    low, high = min(values), max(values)
    spare = max(0.0, narrowest * abs(median(values)) - (high - low)) / 2
    return low - spare, high + spare


def _level(value: float, low: float, high: float) -> int:
    """Of eight."""
    if not 0 < high - low < math.inf:
        return 3
    return min(7, int(8 * (min(max(value, low), high) - low) / (high - low)))
