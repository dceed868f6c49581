"""Ending a job that cannot go on, with the reason in its log."""

import sys
from typing import NoReturn


class GaveUpError(Exception):
    """A job that cannot go on; its log has the reason."""


def give_up(reason: str) -> NoReturn:
    """Print why the job ends, for `hpcbench status` to find it in the log, and raise GaveUpError."""
    print("hpcbench: gave up: %s" % reason, file=sys.stderr, flush=True)
    raise GaveUpError(reason)
