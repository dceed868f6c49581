"""What is written down once for a whole sweep, by whoever comes first, after its measurement."""

import json
import os
import platform
import sys
import time
from typing import Any, Callable, Dict

from ..core.files import make_folder, no_link

PATIENCE_S = 5.0  # for the other ranks of a repetition, which may still be measuring
_POLL_S = 0.05


def keep_once(path: str, describe: Callable[[], Dict[str, Any]]) -> None:
    """Write what `describe` tells as JSON, whole or not at all, unless it is there. What cannot be is told and lost."""
    if os.path.exists(path):
        return
    try:
        write_whole(path, json.dumps(describe(), indent=1) + "\n")
    except Exception as error:  # a node where nothing can be written, or that tells what nobody foresaw
        print("hpcbench: %s is not written: %s" % (path, error), file=sys.stderr)


def write_whole(path: str, text: str) -> None:
    """Under another name first, that of no other process on any node."""
    make_folder(os.path.dirname(path))
    unfinished = "%s.%s-%d.part" % (path, platform.node(), os.getpid())
    try:
        with open(unfinished, "w", encoding="utf-8", opener=no_link) as file:
            file.write(text)
        os.replace(unfinished, path)
    except OSError:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        raise


def all_have_ended(scratch: str, tasks: int, patience_s: float = PATIENCE_S) -> bool:
    """Whether every rank of a repetition has left its file; waits a little for those that have not."""
    give_up = time.monotonic() + patience_s
    while True:
        names = os.listdir(scratch) if os.path.isdir(scratch) else []
        if sum(name.startswith("rank-") and name.endswith(".json") for name in names) >= tasks:
            return True
        if time.monotonic() >= give_up:
            return False
        time.sleep(_POLL_S)
