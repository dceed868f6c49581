"""How a repetition can end. Every one of these is a record; only the first is a measurement."""

from typing import Any, Dict

COMPLETED = "completed"
FAILED = "failed"
OUT_OF_MEMORY = "out_of_memory"
TIMEOUT = "timeout"
CANCELLED = "cancelled"
NODE_FAILURE = "node_failure"
SKIPPED = "skipped"
UNSUPPORTED = "unsupported"

STATUSES = (COMPLETED, FAILED, OUT_OF_MEMORY, TIMEOUT, CANCELLED, NODE_FAILURE, SKIPPED, UNSUPPORTED)
# Running these again would end the same way.
FINAL = (COMPLETED, UNSUPPORTED)

# The exit status by which a shell says that what it ran was killed, or told to end.
KILLED, TERMINATED = 128 + 9, 128 + 15
MEASURE_AGAIN = 75  # by which the record of a disturbed repetition asks its script for another attempt (EX_TEMPFAIL)
LAST_LINES = 30  # of a log or a traceback, kept in a record


class Unsupported(Exception):
    """This case cannot run here, whatever is tried; the message says why."""


class BadData(Exception):
    """The data do not fit the case; the message says which file, and in what."""


class Missed(Exception):
    """A training did not reach its target; `learning` is how far it came."""

    def __init__(self, message: str, learning: Dict[str, Any]) -> None:
        super().__init__(message)
        self.learning = learning
