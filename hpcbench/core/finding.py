"""What was found about one thing: how bad that is, what it means for the numbers, and how to mend it."""

from typing import Callable, Dict, NamedTuple, Optional

OK, NOTE, WARNING, PROBLEM = "ok", "note", "warning", "problem"
LEVELS = (OK, NOTE, WARNING, PROBLEM)  # from good to bad


class Finding(NamedTuple):
    """note: to be known when the numbers are read. warning: they are worse than they could be. problem: they are wrong,
    or there are none. What is ok needs no more words than what was found."""

    subject: str
    level: str
    found: str
    means: str = ""
    mend: str = ""
    numbers: Optional[Dict[str, float]] = None  # for programs, with units in their names


Progress = Callable[[str, str], None]  # what is under way, and how far it is


def silent(what: str, how_far: str) -> None:
    """For those who do not want to know."""


SECONDS = 10
LEAST_SECONDS = 3  # fewer say nothing of how they differ


HARDWARE, POWER, DISTURBANCE = "CPUs and memory", "power and GPUs", "disturbance"
