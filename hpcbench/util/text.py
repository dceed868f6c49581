"""What may reach a terminal: sweeps, records and logs hold what programs printed, and what somebody else wrote."""

from __future__ import annotations


def printable(text: str) -> str:
    """The same without control characters, which could move the cursor, recolour, or hide what is there; lines and
    tabs stay."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character.isprintable() or character in "\n\t":
        return character
    return " " if character.isspace() else "?"
