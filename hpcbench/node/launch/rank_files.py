"""What is written down once for a whole sweep, by whoever comes first, after its measurement."""

import os
import time

PATIENCE_S = 5.0  # for the other ranks of a repetition, which may still be measuring
_POLL_S = 0.05


def all_have_ended(scratch: str, tasks: int, timeout_s: float = PATIENCE_S) -> bool:
    """Return whether all ranks of a run have left their files, within the time limit."""
    give_up = time.monotonic() + timeout_s
    while True:
        names = os.listdir(scratch) if os.path.isdir(scratch) else []
        if sum(name.startswith("rank-") and name.endswith(".json") for name in names) >= tasks:
            return True
        if time.monotonic() >= give_up:
            return False
        time.sleep(_POLL_S)
