"""Where each repetition of a sweep stands: the plan, the journal, Slurm's queue and the records, put together."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from hpcbench.collect.records import RECONCILED, Record, read_records
from hpcbench.errors import UserError
from hpcbench.node import outcomes, provenance
from hpcbench.node import record as node_record
from hpcbench.node.planned import PlannedRun
from hpcbench.submit import queue, states
from hpcbench.submit.journal import Journal, Submission
from hpcbench.submit.queue import QueueEntry
from hpcbench.submit.sweep import Sweep

PLANNED = "planned"  # not submitted yet
UNKNOWN = "unknown"  # submitted, and Slurm was not asked or did not answer
ACTIVE = (states.PENDING, states.RUNNING)
NO_RECORD = "its job ended without leaving a record"


@dataclass(frozen=True)
class RunProgress:
    """One repetition and its state: planned, pending, running, unknown, or how it ended."""

    job: str
    element: int
    planned: PlannedRun
    state: str
    slurm_id: str | None = None
    reason: str = ""
    nodes: str = ""
    record: Record | None = None

    @property
    def ended(self) -> bool:
        return self.state in outcomes.STATUSES


@dataclass(frozen=True)
class Progress:
    """All repetitions of a sweep."""

    sweep: Sweep
    runs: tuple[RunProgress, ...]
    warnings: tuple[str, ...]

    def counts(self) -> dict[str, int]:
        """Repetitions by state, in the order in which a repetition goes through them."""
        counted = Counter(run.state for run in self.runs)
        order = (PLANNED, *ACTIVE, UNKNOWN, *outcomes.STATUSES)
        return {state: counted[state] for state in order if counted[state]}

    def to_do(self) -> list[RunProgress]:
        """What `resume` runs: all that is missing or did not complete, and is not under way."""
        done = (*ACTIVE, UNKNOWN, *outcomes.FINAL)
        return [run for run in self.runs if run.state not in done]


def survey_or_records(sweep: Sweep) -> Progress:
    """The state of every repetition; what the records alone can tell, and a warning, where Slurm cannot be asked."""
    try:
        return survey(sweep)
    except UserError as error:
        told = survey(sweep, ask_slurm=False)
        return replace(told, warnings=(*told.warnings, f"{error.what}; only the records are counted"))


def survey(sweep: Sweep, *, ask_slurm: bool = True) -> Progress:
    """The state of every repetition of a sweep.

    A repetition whose job has ended without a record gets one here, so that no outcome is lost when Slurm forgets.
    Raises UserError where Slurm has to be asked and does not answer.
    """
    journal = Journal.read(sweep.paths.journal)
    found = read_records(sweep.paths)
    warnings = [f"a damaged line is left out: {place}" for place in found.damaged]
    by_run: dict[tuple[str, int], list[Record]] = {}
    for record in found.records:
        by_run.setdefault((record["job"], record["element"]), []).append(record)
    submissions = _latest_submissions(journal)
    open_elements = {
        (submission.slurm_id, element)
        for (job, element), submission in submissions.items()
        if submission.slurm_id and not _recorded(by_run.get((job, element), []), submission)
    }
    known = queue.ask({(str(array), index) for array, index in open_elements}) if ask_slurm else None
    runs = []
    for job in sweep.job_names:
        for element, planned in enumerate(sweep.runs(job)):
            records = by_run.get((job, element), [])
            submission = submissions.get((job, element))
            runs.append(_state(sweep, job, element, planned, records, submission, known))
    return Progress(sweep, tuple(runs), tuple(warnings))


def _state(
    sweep: Sweep,
    job: str,
    element: int,
    planned: PlannedRun,
    records: list[Record],
    submission: Submission | None,
    known: dict[queue.Element, QueueEntry] | None,
) -> RunProgress:
    slurm_id = submission.slurm_id if submission else None
    best = _best(records)
    if submission is None or slurm_id is None or _recorded(records, submission) or _completed(best):
        if best is not None:
            return RunProgress(job, element, planned, best["status"], slurm_id, _message(best), record=best)
        return RunProgress(job, element, planned, PLANNED)
    if known is None:
        return RunProgress(job, element, planned, UNKNOWN, slurm_id)
    entry = known.get((slurm_id, element))
    if entry is not None and not entry.ended:
        phase = states.phase_of(entry.state)
        reason = states.in_words(entry.reason) if phase == states.PENDING else ""
        return RunProgress(job, element, planned, phase, slurm_id, reason, entry.nodes)
    record = _reconcile(sweep, job, element, planned, slurm_id, entry)
    return RunProgress(job, element, planned, record["status"], slurm_id, _message(record), record=record)


def _latest_submissions(journal: Journal) -> dict[tuple[str, int], Submission]:
    return {
        (submission.job, element): submission
        for submission in journal.submissions
        if not submission.rejected
        for element in submission.elements
    }


def _recorded(records: list[Record], submission: Submission) -> bool:
    return any(record["slurm"].get("array_job_id") == submission.slurm_id for record in records)


def _best(records: list[Record]) -> Record | None:
    ordered = sorted(records, key=lambda record: str(record["ended_at"]))
    return next((r for r in reversed(ordered) if _completed(r)), ordered[-1] if ordered else None)


def _completed(record: Record | None) -> bool:
    return record is not None and record["status"] == outcomes.COMPLETED


def _message(record: Record) -> str:
    return str((record["error"] or {}).get("message", ""))


def _reconcile(
    sweep: Sweep, job: str, element: int, planned: PlannedRun, slurm_id: str, entry: QueueEntry | None
) -> Record:
    """Write the record that the job could not write, from what Slurm says of its end."""
    status = (states.outcome_of(entry.state) if entry else None) or outcomes.FAILED
    said = f"Slurm says {entry.state}" if entry else "Slurm no longer knows it"
    error: dict[str, Any] = {"type": "slurm", "message": f"{NO_RECORD}; {said}", "last_lines": []}
    log = sweep.paths.logs(job) / f"{slurm_id}_{element}_0_log.out"
    error["last_lines"] = node_record.tail(str(log))
    ids = {"SLURM_ARRAY_JOB_ID": slurm_id, "SLURM_ARRAY_TASK_ID": str(element)}
    return write_reconciled(sweep, job, element, planned, node_record.Outcome(status, error), ids)


def write_reconciled(
    sweep: Sweep,
    job: str,
    element: int,
    planned: PlannedRun,
    outcome: node_record.Outcome,
    slurm_variables: dict[str, str],
) -> Record:
    """Append a record, made here, for a repetition that left none."""
    record = node_record.assemble(planned, sweep.description, job, element, [], outcome, 0.0, slurm_variables)
    record["attempt"] = None
    node_record.append(provenance.redacted(record, os.environ), str(sweep.paths.records / RECONCILED))
    return record
