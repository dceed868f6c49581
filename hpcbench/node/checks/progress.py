"""How what takes longer tells how far it is."""

from typing import Callable

Progress = Callable[[str, str], None]  # what is under way, and how far it is


def silent(what: str, how_far: str) -> None:
    """For those who do not want to know."""
