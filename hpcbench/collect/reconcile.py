"""Records for repetitions whose job ended without writing one: from what its ranks, its log and Slurm still tell."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from hpcbench.collect.records import RECONCILED, Record
from hpcbench.node import outcomes, verdict, watched
from hpcbench.node import record as node_record
from hpcbench.node.planned import PlannedRun
from hpcbench.submit import states
from hpcbench.submit.queue import QueueEntry
from hpcbench.submit.sweep import Sweep

NO_RECORD = "its job ended without leaving a record"
GAVE_UP = "hpcbench: gave up: "  # how a job script says that it cannot go on
MOST_WORDS = 500


def reconcile(
    sweep: Sweep, job: str, element: int, planned: PlannedRun, slurm_id: str, entry: QueueEntry | None
) -> Record:
    """Write the record that a job of Slurm could not write."""
    status = (states.outcome_of(entry.state) if entry else None) or outcomes.FAILED
    log = sweep.paths.log(job, element, slurm_id)
    if status == outcomes.CANCELLED and not log.exists():
        error: dict[str, object] = {"type": "job", "message": "cancelled before it started", "last_lines": []}
    else:
        said = f"Slurm says {entry.state}" if entry else "Slurm no longer knows it"
        error = _error(f"{NO_RECORD}; {said}", log)
    variables = {"SLURM_ARRAY_JOB_ID": slurm_id, "SLURM_ARRAY_TASK_ID": str(element)}
    return write(sweep, job, element, planned, verdict.Outcome(status, error), variables)


def reconcile_local(sweep: Sweep, job: str, element: int, planned: PlannedRun) -> Record:
    """Write the record that a script on this machine could not write."""
    error = _error(NO_RECORD, sweep.paths.log(job, element, None))
    return write(sweep, job, element, planned, verdict.Outcome(outcomes.FAILED, error), {})


def _error(message: str, log: Path) -> dict[str, object]:
    lines = verdict.tail(str(log))
    gave_up = next((place for place, line in enumerate(lines) if line.startswith(GAVE_UP)), None)
    if gave_up is not None:
        complaint = " ".join(" ".join(lines[:gave_up]).split())[-MOST_WORDS:]
        reason = lines[gave_up].removeprefix(GAVE_UP)
        return {"type": "setup", "message": f"{reason}: {complaint}" if complaint else reason, "last_lines": lines}
    last = next((line for line in reversed(lines) if line.strip()), "")
    return {"type": "job", "message": f"{message}; its log ends: {last}" if last else message, "last_lines": lines}


def write(
    sweep: Sweep,
    job: str,
    element: int,
    planned: PlannedRun,
    outcome: verdict.Outcome,
    slurm_variables: dict[str, str],
) -> Record:
    """Append a record made here. Ranks that had finished before their script was killed still tell the outcome.

    What they left is used once and removed, but for the timelines: it must not speak for a later attempt.
    """
    folder = sweep.paths.results / "running"
    left = sorted(folder.glob(f"{job}-{element}-*"), key=lambda path: path.stat().st_mtime_ns)
    ranks = node_record.read_ranks(str(left[-1])) if left else []
    if len(ranks) == planned.tasks:
        ending = verdict.Ending(1, False, 0.0, float("inf"), 0.0, "")
        outcome = verdict.conclude(planned, sweep.description, ranks, ending, str(left[-1]))
    seen = watched.of_repetition(ranks, str(left[-1]), planned.on_gpus) if left else watched.Seen()
    record = node_record.assemble(planned, sweep.description, job, element, ranks, outcome, 0.0, slurm_variables, seen)
    record["attempt"] = None
    record = node_record.without_secrets(record, os.environ)
    node_record.append(record, str(sweep.paths.records / RECONCILED))
    if left:
        kept = sweep.paths.results / node_record.TIMELINES / job
        watched.keep(str(left[-1]), str(kept), f"{element}-reconciled")
    for used in left:
        shutil.rmtree(used, ignore_errors=True)
    return record
