"""Text for a terminal: printable text, and counts with their noun."""

from __future__ import annotations

from collections.abc import Sequence


def printable(text: str) -> str:
    """Return the text with its control characters replaced: they could move the cursor, change colours or hide text.

    Line breaks and tabs stay. Other white space becomes a blank, any other character a question mark.
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character.isprintable() or character in "\n\t":
        return character
    return " " if character.isspace() else "?"


def percent_above(bound: float, percent: float) -> str:
    """Return a percentage above `bound` with as many decimals as show that it is above."""
    decimals = next((places for places in range(6) if round(percent, places) > bound), 6)
    return f"{percent:.{decimals}f} %"


def in_list(words: Sequence[str]) -> str:
    """Return words as a list: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def in_short_list(words: Sequence[str], most: int = 5) -> str:
    """Return words as a list of the first `most`, and how many others there are: `a, b and 37 others`.

    A list with one word more is complete.
    """
    if len(words) <= most + 1:
        return in_list(words)
    return f"{', '.join(words[:most])} and {len(words) - most:,} others"


def plural(count: int, word: str) -> str:
    """Return a count with its noun: `1 case`, `2,000 cases`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
