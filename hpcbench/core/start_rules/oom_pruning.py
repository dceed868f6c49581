"""Skip a case if a smaller case ran out of memory. The experiment declares which parameters increase memory use.

Cases that differ only in their `skip_larger_on_oom` values are a group. The knowledge about a group is in notes, one
file each, which are created once and never changed: many nodes write them at the same time, on file systems that cannot
append from several nodes. A note says that a case ran out of memory, or that it completed. The latter refutes the
former for all cases that are not larger.
"""

import contextlib
import json
import os
from typing import Dict, List, NamedTuple, Optional

from ..files import make_folder, no_link
from ..run_spec import PlannedRun
from ..status import COMPLETED, OUT_OF_MEMORY

FOLDER = "larger_than_oom"  # below the results of a sweep; in it: first two digits of a group / group
_NOTED = (OUT_OF_MEMORY, COMPLETED)
_MOST_BYTES = 65536


class Note(NamedTuple):
    """The outcome of one run of a case."""

    status: str
    case: str
    run: int
    values: Dict[str, float]


def note(planned: PlannedRun, status: str, results: str) -> None:
    """Write a note about the outcome of a run, if it is new information. Ignore a note that cannot be written."""
    if planned.size is None or status not in _NOTED:
        return
    values, known = planned.size["values"], notes(planned, results)
    if _says_nothing_new(status, values, known):
        return
    folder = _folder(planned, results)
    line = json.dumps(Note(status, planned.case_id, planned.run, values)._asdict())
    with contextlib.suppress(OSError):
        make_folder(folder)
        path = os.path.join(folder, "%s-%s.json" % (planned.case_id, status))
        with open(path, "x", encoding="utf-8", opener=no_link) as file:
            file.write(line + "\n")


def notes(planned: PlannedRun, results: str) -> List[Note]:
    """Return the notes about the group of a planned run.

    Leave out a note that cannot be read or is still being written.
    """
    folder = _folder(planned, results)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    read = [_read(os.path.join(folder, name), (planned.size or {})["values"]) for name in names]
    return [found for found in read if found is not None]


def _read(path: str, like: Dict[str, float]) -> Optional[Note]:
    try:
        with open(path, encoding="utf-8", opener=no_link) as file:
            found = Note(**json.loads(file.read(_MOST_BYTES)))
        numbers = all(isinstance(found.values[name], (int, float)) for name in like)
        return found if numbers and len(found.values) == len(like) else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def too_large(planned: PlannedRun, known: List[Note]) -> Optional[str]:
    """Return why a planned run is skipped, or None if it is not.

    A run is skipped if a smaller case ran out of memory and no case at least as large as that one completed.
    """
    if planned.size is None:
        return None
    values = planned.size["values"]
    smaller = [found for found in _standing(known) if found.values != values and _reaches(values, found.values)]
    if not smaller:
        return None
    found = min(smaller, key=lambda each: sorted(each.values.items()))
    values_shown = (_shown(found.values), found.case, found.run, _shown(values))
    return "%s ran out of memory (case %s, run %s), and %s is larger" % values_shown


def _says_nothing_new(status: str, values: Dict[str, float], known: List[Note]) -> bool:
    if status == COMPLETED:
        return any(earlier.status == status and _reaches(earlier.values, values) for earlier in known)
    return any(_reaches(values, earlier.values) for earlier in _standing(known))


def _standing(known: List[Note]) -> List[Note]:
    """Return the cases that ran out of memory, without those that completed or for which a larger case completed."""
    fits = [each.values for each in known if each.status == COMPLETED]
    exhausted = [each for each in known if each.status == OUT_OF_MEMORY]
    return [each for each in exhausted if not any(_reaches(values, each.values) for values in fits)]


def _reaches(one: Dict[str, float], other: Dict[str, float]) -> bool:
    """Return whether each value of `one` is at least the value of `other`."""
    return all(one[name] >= other[name] for name in other)


def _shown(values: Dict[str, float]) -> str:
    return " ".join("%s=%s" % item for item in values.items())


def _folder(planned: PlannedRun, results: str) -> str:
    group: str = (planned.size or {})["group"]
    return os.path.join(results, FOLDER, group[:2], group)
