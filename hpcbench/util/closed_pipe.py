"""The end of a command whose reader has closed the pipe, as in `hpcbench report | head`."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import NoReturn

from hpcbench.util.exit_status import CLOSED_PIPE


def end_quietly() -> NoReturn:
    """Exit like a program that SIGPIPE has ended. Text that is still buffered is dropped."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # a stream without a descriptor
            os.dup2(null, stream.fileno())
    sys.exit(CLOSED_PIPE)
