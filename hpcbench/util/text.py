"""Text for a terminal: counts with their word, and no control characters of programs and of other users."""

from __future__ import annotations


def printable(text: str) -> str:
    """The same without control characters, which could move the cursor, recolour, or hide what is there; lines and
    tabs stay."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character.isprintable() or character in "\n\t":
        return character
    return " " if character.isspace() else "?"


def plural(count: int, word: str) -> str:
    """`1 case`, `2,000 cases`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
