"""Quotes in a line of bash."""

from __future__ import annotations

_SUBSTITUTION = "$("


def is_inside_quotes(text: str) -> bool:
    """Return whether `text`, the beginning of a line of bash, ends inside quotes.

    Within `$(...)`, quoting starts again, even inside double quotes.
    """
    opened: list[str] = []  # the characters that will close what is open
    place = 0
    while place < len(text):
        character, inner = text[place], opened[-1] if opened else ""
        if character == "\\" and inner != "'":
            place += 1
        elif character == inner:
            opened.pop()
        elif inner != "'" and text.startswith(_SUBSTITUTION, place):
            opened.append(")")
            place += 1
        elif character == "(" and inner == ")":
            opened.append(")")
        elif (character == '"' and inner != "'") or (character == "'" and inner != '"'):
            opened.append(character)
        place += 1
    return bool(opened) and opened[-1] in "'\""
