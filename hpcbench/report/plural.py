"""Counts with their word, for commands that print no numbers else, too: without what takes long to import."""

from __future__ import annotations


def plural(count: int, word: str) -> str:
    """`1 case`, `2,000 cases`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
