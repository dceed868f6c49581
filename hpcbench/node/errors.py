"""Errors that end a run with a status of their own."""

from typing import Any, Dict, Sequence

from ..core.status import PARAMETERS


class Unsupported(Exception):
    """The case cannot run here, and a retry would not help; the message has the reason."""


class BadData(Exception):
    """The data do not fit the case; the message names the file and the problem."""


class BadModel(Exception):
    """The model of a library or of the user cannot be used; the message has the reason.

    `last_lines` are the last lines of the traceback of the user's code.
    """

    type = "model"  # of the error in the record

    def __init__(self, message: str, last_lines: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.last_lines = list(last_lines)


class BadParameters(BadModel):
    """A library does not have the model or an option of the case, or hpcbench does not support it."""

    type = PARAMETERS


class IncompleteInput(BadModel):
    """`input` of the case lacks `fields`, such as the shape, of an input of the model."""

    def __init__(self, message: str, fields: Sequence[str]) -> None:
        super().__init__(message)
        self.fields = list(fields)


class UnknownWork(BadModel):
    """The FLOPs or bytes of an operator of the model are unknown."""


class FixedBatch(BadModel):
    """The model has one batch size, and the case another one."""

    def __init__(self, message: str, batch_size: int) -> None:
        super().__init__(message)
        self.batch_size = batch_size


class Missed(Exception):
    """A training did not reach its target accuracy; `learning` has its results."""

    def __init__(self, message: str, learning: Dict[str, Any]) -> None:
        super().__init__(message)
        self.learning = learning


class Invalid(Exception):
    """The results of an operator are wrong; the message has the reason."""


class RankLost(ConnectionError):
    """Another rank has ended."""
