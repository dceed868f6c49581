"""What was found about one thing: how bad that is, what it means for the numbers, and how to mend it."""

from typing import Dict, NamedTuple, Optional

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
