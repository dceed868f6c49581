"""End a job that cannot continue, with the reason in its log."""

import sys
from typing import NoReturn

from ...core.status import GAVE_UP


class GaveUpError(Exception):
    """A job cannot continue; its log has the reason."""


def give_up(reason: str) -> NoReturn:
    """Print why the job ends, so that `hpcbench status` finds the reason in the log, and raise GaveUpError."""
    print(GAVE_UP + reason, file=sys.stderr, flush=True)
    raise GaveUpError(reason)
