"""Continue a job that Slurm requeued after a node failure or a preemption.

Interrupted runs get their records. The outcomes of the earlier attempts decide which runs are repeated.
"""

import contextlib
import json
import os
import shutil
import sys
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from ...core.record import Record, RecordKey
from ...core.run_spec import read
from ...core.status import COMPLETED, LAST_LINES, NODE_FAILURE, PREEMPTED
from ...core.typed_json import from_json
from ..launch.rank_files import OPERATORS, TRAJECTORY
from ..results import operator_rows, record_writer, trajectory_file
from ..results.outcome import Outcome, lines_of, of_ranks_alone

_PREEMPTED = ("DUE TO PREEMPTION", "DUE TO JOB REQUEUE")  # messages of slurmstepd in the log
REQUEUED = "hpcbench: Slurm has requeued this job"
_NODE_FAILED = "its node failed, or its job was requeued, before it had ended"


class Start(NamedTuple):
    """The current start of a requeued job: its number, 0 for the first one, and the paths of its files."""

    number: int
    batch: str
    running: str  # the folder of the scratch folders
    records: str  # the file of this start
    log: str


def record_cut_off(job_file: str, sweep: Dict[str, Any], start: Start) -> None:
    """Write a record for each run of this job that an earlier start left without one. Raise OSError if that fails.

    A run with a record was killed before it had removed its scratch folder, or its folder has the only copy of a
    profile or a trajectory: it is kept now, and the folder stays if that fails again.
    """
    job = os.path.splitext(os.path.basename(job_file))[0]
    recorded = {(count, each.get("element"), each.get("attempt")): each for count, each in _of_earlier_starts(start)}
    for name, element, count, attempt in _cut_off(start.running):
        scratch = os.path.join(start.running, name)
        known = recorded.get((count, element, attempt))
        if known is not None:
            if _is_kept(known, scratch, _records_of(start, count)):
                shutil.rmtree(scratch, ignore_errors=True)
            continue
        planned = read(job_file, element)
        key = RecordKey(job, element, start.batch, attempt)
        ranks = record_writer.read_ranks(scratch)
        outcome = of_ranks_alone(planned, sweep, ranks, scratch) or _outcome(start.log)
        record_writer.write(planned, sweep, key, outcome, ranks, scratch, start.records)
    print(REQUEUED, file=sys.stderr)


def _is_kept(known: Dict[str, Any], scratch: str, path: str) -> bool:
    """Keep the profile and the trajectory of a run with a record in the file `path`; return whether none is lost."""
    if not any(os.path.exists(os.path.join(scratch, name)) for name in (OPERATORS, TRAJECTORY)):
        return True
    try:
        record = from_json(Record, known)
    except ValueError as error:
        print("hpcbench: %s stays, because its record is damaged: %s" % (scratch, error), file=sys.stderr)
        return False
    rows = operator_rows.keep(record, record_writer.read_ranks(scratch), scratch, path)
    return trajectory_file.keep(record, scratch, path) and rows


def _outcome(log: str) -> Outcome:
    """Return the outcome of an interrupted run by Slurm's messages since the last start of the job."""
    lines = lines_of(log)
    lines = lines[max((place for place, line in enumerate(lines, 1) if REQUEUED in line), default=0) :]
    if any(words in line for line in lines for words in _PREEMPTED):
        status, message = PREEMPTED, "its job was preempted and requeued"
    else:
        status, message = NODE_FAILURE, _NODE_FAILED
    return Outcome(status, {"type": status, "message": message, "last_lines": lines[-LAST_LINES:]})


def _cut_off(running: str) -> Iterator[Any]:
    """Yield the scratch folders of this job, ELEMENT-JOBID-RESTART-ATTEMPT, with element, restart and attempt."""
    for name in sorted(os.listdir(running)) if os.path.isdir(running) else []:
        parts = name.split("-")
        if len(parts) == 4 and parts[1] == os.environ.get("SLURM_JOB_ID"):
            yield name, int(parts[0]), int(parts[2]), int(parts[3])


class EarlierAttempt(NamedTuple):
    """The outcome of an attempt of an earlier start."""

    status: str
    verdict: Optional[str]  # on interference


def earlier_attempts(start: Start) -> Dict[int, List[EarlierAttempt]]:
    """Return the attempts of earlier starts by element, the oldest first. A damaged line counts as not written."""
    ended: Dict[int, List[EarlierAttempt]] = {}
    for _, found in _of_earlier_starts(start):
        with contextlib.suppress(KeyError, TypeError, AttributeError):
            verdict = (found["interference"] or {}).get("verdict") if found["status"] == COMPLETED else None
            ended.setdefault(found["element"], []).append(EarlierAttempt(found["status"], verdict))
    return ended


def _of_earlier_starts(start: Start) -> Iterator[Tuple[int, Dict[str, Any]]]:
    """Yield each record of this job with the number of its start, from 0: those of `BATCH/7_3.jsonl`, then those of
    `BATCH.1/7_3.jsonl`, which are from after the first requeue of 7_3, and so on."""
    for count in range(start.number + 1):
        with contextlib.suppress(FileNotFoundError), open(_records_of(start, count), "rb") as file:
            for line in file.read().splitlines():
                with contextlib.suppress(ValueError):
                    found = json.loads(line)
                    if isinstance(found, dict):
                        yield count, found


def _records_of(start: Start, count: int) -> str:
    """Return the file of the records of an earlier start by its number."""
    folder, name = os.path.split(start.records)
    batch = start.batch + (".%d" % count if count else "")
    return os.path.join(os.path.dirname(folder), batch, name)
