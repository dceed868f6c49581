"""Errors that end a run with a status of their own."""

from typing import Any, Dict


class Unsupported(Exception):
    """This case cannot run here, whatever is tried; the message says why."""


class BadData(Exception):
    """The data do not fit the case; the message says which file, and in what."""


class Missed(Exception):
    """A training did not reach its target; `learning` is how far it came."""

    def __init__(self, message: str, learning: Dict[str, Any]) -> None:
        super().__init__(message)
        self.learning = learning


class RankLost(ConnectionError):
    """Another rank has ended."""
