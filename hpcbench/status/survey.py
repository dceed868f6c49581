"""The state of each run, from a snapshot. Pure: no clock, no disk, no process, no Slurm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from hpcbench.core import status
from hpcbench.core.record import Record
from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.start_rules.retry_rule import is_tried_again
from hpcbench.slurm import states
from hpcbench.slurm.job_entry import JobEntry
from hpcbench.slurm.refusals import is_of_request
from hpcbench.status import evidence
from hpcbench.status.evidence import JobState
from hpcbench.status.progress import PLANNED, UNKNOWN, Progress, RunProgress
from hpcbench.status.snapshot import ArrayIndex, RunKey, Snapshot
from hpcbench.store.records import array_of, best_attempt, has_interference, in_order, index_of, interference_causes
from hpcbench.store.run_record import run_record

OTHERS_FIRST = "waits for other runs of its job"
NO_RECORD = "its job ended without leaving a record"
# Slurm keeps no record of an element that is cancelled while it is pending, only of its array.
CANCELLED_WHILE_PENDING = JobEntry("CANCELLED", started=False)


@dataclass(frozen=True)
class EndedWithoutRecord:
    """A run whose job has ended without a record of the run, with the state of the job by Slurm, and its files.

    `files` are a scratch folder for each attempt, and the output of a run that ran concurrently with others. A run
    `had_no_turn` if its job has started others of the pack, but not this one.
    """

    place: ArrayIndex
    element: int
    planned: PlannedRun
    entry: JobEntry | None = None
    has_log: bool = False
    files: Sequence[Path] = ()
    had_no_turn: bool = False
    job: JobState | None = None

    @property
    def status(self) -> str:
        """Return how the run ended, by the state of its job alone."""
        return (states.outcome_of(self.entry.state) if self.entry else None) or status.FAILED

    @property
    def folders(self) -> list[Path]:
        return [path for path in self.files if path.suffix != ".log"]

    @property
    def own_log(self) -> Path | None:
        return next((path for path in self.files if path.suffix == ".log"), None)


def survey(snapshot: Snapshot) -> Progress:
    """Return the state of each run of a sweep.

    A run whose job ended without a record has the outcome in `snapshot.concluded`, otherwise the outcome by Slurm.
    """
    runs = tuple(_with_refusal(snapshot, _Run(snapshot, key).progress()) for key in snapshot.runs)
    return Progress(snapshot.sweep, runs, snapshot.warnings, snapshot.follow_on, complaint=snapshot.complaint)


def _with_refusal(snapshot: Snapshot, run: RunProgress) -> RunProgress:
    """Return the run with the refusal as its reason if it is planned, and `is_refused` if the request is the cause."""
    refusal = snapshot.refused.get((run.job, run.element))
    if refusal is None:
        return run
    reason = refusal if run.state == PLANNED else run.reason
    return replace(run, is_refused=is_of_request(refusal), reason=reason)


def ended_without_record(snapshot: Snapshot) -> dict[RunKey, EndedWithoutRecord]:
    """Return the runs whose job has ended without a record, so that their outcome has to be concluded."""
    gone = [(_Run(snapshot, key), snapshot.array_indices[key]) for key in snapshot.gone()]
    return {run.key: run.remains(place) for run, place in gone if run.undecided(place) is None}


@dataclass(frozen=True)
class _Run:
    """One planned run in a snapshot."""

    snapshot: Snapshot
    key: RunKey

    @property
    def element(self) -> int:
        return self.key[1]

    @property
    def planned(self) -> PlannedRun:
        return self.snapshot.runs[self.key]

    @cached_property
    def records(self) -> list[Record]:
        """Return the records of the run, the latest last."""
        return in_order(self.snapshot.records.get(self.key, ()))

    def progress(self) -> RunProgress:
        """Return the run with its state."""
        snapshot, place = self.snapshot, self.snapshot.array_indices.get(self.key)
        entry, best = snapshot.active_entry(self.key), best_attempt(self.records)
        if best is not None and snapshot.has_outcome(self.key) and not (entry and self._runs_again(best, place)):
            return self._ended(best, self.records)
        if place is None or place.batch.slurm_id is None:
            return self._at(states.RUNNING if self.key in snapshot.running_here else PLANNED, place)
        if entry is not None:
            return self._queued(place, entry)
        return self.undecided(place) or self._concluded(place)

    def _runs_again(self, best: Record, place: ArrayIndex | None) -> bool:
        """Return whether the job that wrote this record makes another attempt, also after a requeue."""
        if best.status == status.COMPLETED and not has_interference(best):
            return False
        by_job = [record for record in self.records if place and array_of(record) == place.batch.slurm_id]
        retry = self.snapshot.retry
        return is_tried_again(by_job, int(self.planned.measure["retries"]), retry.on, retry.max)

    def _queued(self, place: ArrayIndex, entry: JobEntry) -> RunProgress:
        state = states.phase_of(entry.state)
        reason = entry.why_pending
        if entry.waits_for_ever:
            state = status.NEVER_STARTED
        elif state == states.RUNNING and len(place.pack) > 1 and not self._scratch(place):
            state, reason = states.PENDING, OTHERS_FIRST
        return replace(self._at(state, place, reason, entry.nodes), in_queue=True)

    def undecided(self, place: ArrayIndex) -> RunProgress | None:
        """Return the run as unknown or planned if there is no outcome for it, or None if its job ended during it."""
        job = self.snapshot.jobs.get(place.element) if self.snapshot.jobs is not None else None
        if job is None:
            return self._at(UNKNOWN, place)
        if job.kind == evidence.UNKNOWN:
            return replace(self._at(UNKNOWN, place, job.in_words), awaited_until=job.until)
        if self._had_no_turn(place) and not (job.entry and states.outcome_of(job.entry.state) == status.CANCELLED):
            ended = f" ({job.entry.state})" if job.entry else ""
            return self._at(PLANNED, place, f"its job ended{ended} before its turn")
        return None

    def remains(self, place: ArrayIndex) -> EndedWithoutRecord:
        """Return the run with the state of its job, which has ended, and with its files."""
        job, has_log = self.snapshot.job(self.key), place.element in self.snapshot.logged
        entry = job.entry if job is not None else None
        # Slurm may still list an array, but no longer an element that ended long ago: its log shows that it started.
        if entry is None and place.element[0] in self.snapshot.known_arrays and not has_log:
            entry = CANCELLED_WHILE_PENDING
        files, had_no_turn = self._scratch(place), self._had_no_turn(place)
        return EndedWithoutRecord(place, self.element, self.planned, entry, has_log, files, had_no_turn, job)

    def _scratch(self, place: ArrayIndex) -> Sequence[Path]:
        return self.snapshot.scratch.get(place.batch.name, {}).get(self.element, ())

    def _had_no_turn(self, place: ArrayIndex) -> bool:
        """Return whether its job has started another run of the pack, but not this one.

        If the job has started none of them, all of them end as the job does.
        """
        if self._scratch(place):
            return False
        begun = self.snapshot.scratch.get(place.batch.name, {})
        return place.element in self.snapshot.recorded or any(other in begun for other in place.pack)

    def _concluded(self, place: ArrayIndex) -> RunProgress:
        record = self.snapshot.concluded.get(self.key)
        if record is None:
            return self._at(self.remains(place).status, place, NO_RECORD)
        return replace(self._ended(record, [*self.records, record]), is_concluded=True)

    def _ended(self, record: Record, records: Sequence[Record]) -> RunProgress:
        causes = interference_causes(record)
        message = record.message or (f"interference: {causes}" if causes else "")
        nodes = ",".join(node.hostname for node in record.nodes)
        numbered = [number for number, each in enumerate(records, 1) if each is record]
        attempt = numbered[0] if record.attempt is not None else None
        shown = run_record(record, attempt=attempt, attempts=len(records))
        state, array, index = record.status, array_of(record), index_of(record)
        return RunProgress(*self.key, self.planned, state, array, index, message, nodes, shown, tuple(records))

    def _at(self, state: str, place: ArrayIndex | None, reason: str = "", nodes: str = "") -> RunProgress:
        slurm_id, index = (place.batch.slurm_id, place.index) if place else (None, None)
        return RunProgress(*self.key, self.planned, state, slurm_id, index, reason, nodes)
