"""A job that Slurm has started anew, after its node failed or it was preempted: what was cut off gets its record, and
how earlier attempts ended decides what is run again."""

import contextlib
import json
import os
import sys
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

from ...core.record import RecordKey
from ...core.run_spec import read
from ...core.status import LAST_LINES, NODE_FAILURE, PREEMPTED
from ..results import record_writer
from ..results.outcome import Outcome, lines_of, of_ranks_alone

_PREEMPTED = ("DUE TO PREEMPTION", "DUE TO JOB REQUEUE")  # in the log, by slurmstepd
ANEW = "hpcbench: Slurm has requeued this job"
_NODE_FAILED = "its node failed, or its job was requeued, before it had ended"


class Start(NamedTuple):
    """How often a job was started before, and where it left its traces."""

    number: int
    batch: str
    running: str  # the folder of the scratch folders
    records: str  # the file of this start
    log: str


def record_cut_off(job_file: str, sweep: Dict[str, Any], start: Start) -> None:
    """Write a record for each run of this job that an earlier start left unfinished."""
    job = os.path.splitext(os.path.basename(job_file))[0]
    for name, element, attempt in _cut_off(start.running):
        planned, scratch = read(job_file, element), os.path.join(start.running, name)
        key = RecordKey(job, element, start.batch, attempt)
        concluded = of_ranks_alone(planned, sweep, record_writer.read_ranks(scratch), scratch)
        outcome = concluded or _outcome(start.log)
        record_writer.write_outcome(planned, sweep, key, outcome, scratch, start.records)
    print(ANEW, file=sys.stderr)


def _outcome(log: str) -> Outcome:
    """Return the outcome by Slurm's messages since the last start of the job."""
    lines = lines_of(log)
    lines = lines[max((place for place, line in enumerate(lines, 1) if ANEW in line), default=0) :]
    if any(words in line for line in lines for words in _PREEMPTED):
        status, message = PREEMPTED, "its job was preempted and requeued"
    else:
        status, message = NODE_FAILURE, _NODE_FAILED
    return Outcome(status, {"type": status, "message": message, "last_lines": lines[-LAST_LINES:]})


def _cut_off(running: str) -> Iterator[Any]:
    """Yield the scratch folders of this job, ELEMENT-JOBID-RESTART-ATTEMPT, with element and attempt."""
    for name in sorted(os.listdir(running)) if os.path.isdir(running) else []:
        parts = name.split("-")
        if len(parts) == 4 and parts[1] == os.environ.get("SLURM_JOB_ID"):
            yield name, int(parts[0]), int(parts[3])


class EarlierAttempt(NamedTuple):
    """How an attempt of an earlier start ended."""

    status: str
    verdict: Optional[str]  # of its interference


def earlier_attempts(start: Start) -> Dict[int, List[EarlierAttempt]]:
    """Return the attempts of earlier starts by element, the oldest first. A damaged line counts as not written."""
    ended: Dict[int, List[EarlierAttempt]] = {}
    for line in _lines_of_earlier_starts(start):
        try:
            found = json.loads(line)
            verdict = (found["interference"] or {}).get("verdict")
            ended.setdefault(found["element"], []).append(EarlierAttempt(found["status"], verdict))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return ended


def _lines_of_earlier_starts(start: Start) -> Iterator[bytes]:
    """`BATCH/7_3.jsonl`, `BATCH.1/7_3.jsonl` and so on, the latter of the first time that job 7_3 was started anew."""
    folder, name = os.path.split(start.records)
    for count in range(start.number + 1):
        batch = start.batch + (".%d" % count if count else "")
        path = os.path.join(os.path.dirname(folder), batch, name)
        with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
            yield from file.read().splitlines()
