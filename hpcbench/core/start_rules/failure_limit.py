"""Stop a sweep when its programs fail: `--fail-fast` and `--max-failures`.

The limit and a note for each failed run are files in one folder: many nodes write them at the same time, on file
systems that cannot append from several nodes. A note is created once and never changed.
"""

import contextlib
import json
import os
import shutil
from typing import NamedTuple, Optional

from ..files import make_folder, no_link, write_whole
from ..record import Record
from ..run_spec import PlannedRun
from ..status import FAILED

FOLDER = "failures"  # below the results of a sweep
_LIMIT = "limit.json"
_NOTE = ".failed"  # suffix
_MOST_BYTES = 65536


class FailureLimit(NamedTuple):
    """When a sweep stops: if the first run of a workload fails, or after `max_failures` failed runs."""

    fail_fast: bool = False
    max_failures: Optional[int] = None


NO_LIMIT = FailureLimit()


def begin(limit: FailureLimit, results: str) -> None:
    """Set the limit of a sweep, and forget the failures so far. Raise OSError if that fails."""
    folder = os.path.join(results, FOLDER)
    shutil.rmtree(folder, ignore_errors=True)
    if limit != NO_LIMIT:
        make_folder(folder)
        write_whole(os.path.join(folder, _LIMIT), json.dumps(limit._asdict()) + "\n")


def note(planned: PlannedRun, record: Record, results: str) -> None:
    """Write a note about a run that has failed by itself. Ignore a note that cannot be written."""
    folder = os.path.join(results, FOLDER)
    if record.status != FAILED or not os.path.isdir(folder):
        return
    kind = "first" if planned.is_first else "later"
    with contextlib.suppress(OSError):
        path = os.path.join(folder, "%s-%s-%d%s" % (kind, planned.case_id, planned.run, _NOTE))
        with open(path, "x", encoding="utf-8", opener=no_link) as file:
            file.write(record.error_message or "")


def reached(results: str) -> Optional[str]:
    """Return why a sweep starts no further runs, or None if it does."""
    folder = os.path.join(results, FOLDER)
    try:
        limit = FailureLimit(**json.loads(_read(os.path.join(folder, _LIMIT))))
        names = sorted(name for name in os.listdir(folder) if name.endswith(_NOTE))
    except (OSError, ValueError, TypeError):
        return None
    first = next((name for name in names if name.startswith("first-")), None)
    if limit.fail_fast and first is not None:
        with contextlib.suppress(OSError):
            return "the first run failed: %s" % _read(os.path.join(folder, first))
        return "the first run failed"
    if limit.max_failures is not None and len(names) >= limit.max_failures:
        return "%d runs failed (--max-failures %d)" % (len(names), limit.max_failures)
    return None


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace", opener=no_link) as file:
        return file.read(_MOST_BYTES)
