"""The result of one check: how severe it is, what it means for the measurements, and how to fix it."""

from typing import Callable, Dict, NamedTuple, Optional

OK, NOTE, WARNING, PROBLEM = "ok", "note", "warning", "problem"
LEVELS = (OK, NOTE, WARNING, PROBLEM)  # from good to bad


class CheckResult(NamedTuple):
    """The result of one check.

    Level `note`: information for reading the numbers. `warning`: the numbers are worse than they could be. `problem`:
    the numbers are wrong or missing. `ok` needs only `subject` and `found`.
    """

    subject: str
    level: str
    found: str
    means: str = ""
    action: str = ""
    numbers: Optional[Dict[str, float]] = None  # for programs, with units in their names


Progress = Callable[[str, str], None]  # takes the current activity and its progress


def silent(what: str, how_far: str) -> None:
    """Ignore a progress message."""


SECONDS = 10
LEAST_SECONDS = 3  # fewer do not show the variation


HARDWARE, POWER, INTERFERENCE = "CPUs and memory", "power and GPUs", "interference"
