"""Outcomes of runs whose job ended without a record: concluded from files of ranks, logs and Slurm, and saved.

`conclude` only reads. `reconcile` also saves, as Slurm forgets how jobs ended: it is for commands that may write.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from hpcbench.core.files import make_folder
from hpcbench.core.record import Record, RecordKey
from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.start_rules import oom_pruning
from hpcbench.core.status import CANCELLED, FAILED, GAVE_UP, NEVER_STARTED, NODE_FAILURE, SETUP, TIMEOUT
from hpcbench.errors import UserError
from hpcbench.node import complaint
from hpcbench.node.results import kept_output, monitor_summary, operator_rows, trajectory_file
from hpcbench.node.results import record_writer as node_record
from hpcbench.node.results.outcome import Outcome, of_ranks_alone, tail
from hpcbench.slurm import states
from hpcbench.slurm.client import NoAnswerError
from hpcbench.status import scratch
from hpcbench.status.evidence import JobState
from hpcbench.status.progress import Progress, RunProgress
from hpcbench.status.snapshot import RunKey, Snapshot, take_snapshot, with_later_records
from hpcbench.status.survey import NO_RECORD, EndedWithoutRecord, ended_without_record, survey
from hpcbench.store.journal import Journal
from hpcbench.store.records import RECONCILED
from hpcbench.store.sweep import Sweep
from hpcbench.util.gc_pause import without_garbage_collection
from hpcbench.util.locking.flock import exclusive
from hpcbench.util.text import plural

LOST = "job"  # type of the error of a run whose job has left nothing
CANCELLED_BEFORE_START = "cancelled before it started"
MAX_WORDS = 500
TIMEOUT_S = 20.0


class ConcludedRecord(NamedTuple):
    """A record that was concluded for a run, its scratch folder, and all files that are removed when it is saved."""

    record: Record
    planned: PlannedRun
    scratch: Path | None = None
    used: Sequence[Path] = ()
    job: JobState | None = None
    submitted_by: int = -1  # the user who may delete the files


@without_garbage_collection()
def reconcile(sweep: Sweep) -> Progress:
    """Return the state of each run, and save the outcome of those that ended without a record.

    A warning gives the reason if an outcome cannot be saved. Raise UserError if Slurm has to be queried and does not
    respond, and NoAnswerError if another hpcbench saves outcomes of this sweep for longer than TIMEOUT_S.
    """
    snapshot = take_snapshot(sweep)
    if not (snapshot.first_unknown or ended_without_record(snapshot)):
        return survey(snapshot)
    with alone(sweep) as reason:
        noted = [] if reason else _note_unknown(snapshot)
        concluded = conclude(snapshot)
        progress = survey(with_conclusions(snapshot, concluded))
        unsaved = [concluded[run.job, run.element] for run in progress.runs if run.is_concluded]
        warnings = [*noted, *save(sweep, unsaved, reason)]
    return replace(progress, warnings=(*progress.warnings, *warnings))


def _note_unknown(snapshot: Snapshot) -> list[str]:
    """Save in the journal which jobs slurmctld does not know, with the current time; return warnings."""
    indices: dict[str, list[int]] = {}
    for array_id, index in snapshot.first_unknown:
        indices.setdefault(array_id, []).append(index)
    journal = Journal(snapshot.sweep.paths)
    try:
        for array_id, found in sorted(indices.items()):
            journal.unknown_to_slurm(array_id, found)
    except OSError as error:
        return [f"{journal.paths.journal}: {error.strerror}; jobs that Slurm does not know stay unknown"]
    return []


def conclude(snapshot: Snapshot) -> dict[RunKey, ConcludedRecord]:
    """Return a record for each run that ended without one, from its ranks, its log and Slurm. Write nothing.

    A run whose files cannot be read now, e.g. because of an error of the file system, has none.
    """
    found: dict[RunKey, ConcludedRecord] = {}
    for key, remains in ended_without_record(snapshot).items():
        with suppress(OSError):
            found[key] = concluded_record(snapshot.sweep, remains)
    return found


def with_conclusions(snapshot: Snapshot, concluded: Mapping[RunKey, ConcludedRecord]) -> Snapshot:
    """Return the snapshot with these conclusions, and with the records written meanwhile, which take precedence.

    The files of jobs were read before the records: another hpcbench writes a record before it removes the files.
    """
    later = with_later_records(snapshot)
    return replace(later, concluded={key: each.record for key, each in concluded.items()})


def concluded_record(sweep: Sweep, ended: EndedWithoutRecord) -> ConcludedRecord:
    """Return a record for a run whose Slurm job ended without one."""
    batch, index = ended.place.batch, ended.place.index
    log = sweep.paths.log(batch.name, index, batch.slurm_id)
    if ended.has_log or ended.entry is None:
        found = _outcome_after_start(ended, log)
    else:
        found = _outcome_before_start(ended, log) or _outcome_after_start(ended, log)
    variables = {"SLURM_ARRAY_JOB_ID": str(batch.slurm_id), "SLURM_ARRAY_TASK_ID": str(index)}
    key = RecordKey(batch.job, ended.element, batch.name, None)
    try:
        made = _make(sweep, key, ended.planned, found, ended.folders, variables)
    except FileNotFoundError:  # another hpcbench has saved the outcome, and is removing the folder
        made = _make(sweep, key, ended.planned, found, (), variables)
    return made._replace(used=ended.files, job=ended.job, submitted_by=batch.uid)


def _outcome_before_start(ended: EndedWithoutRecord, log: Path) -> Outcome | None:
    """Return the outcome of a job that has written no log, or None if its script started by Slurm's accounting."""
    entry = ended.entry
    if entry is None:
        return None
    if entry.could_not_log:
        return _lost(
            NODE_FAILURE, f"{entry.nodes or 'its node'} could not write {log}: check that it can access this directory"
        )
    if entry.never_started:
        return _lost(NEVER_STARTED, f"Slurm never started it: {states.in_words(entry.reason)}")
    if ended.status == CANCELLED:
        return _lost(CANCELLED, CANCELLED_BEFORE_START)
    if ended.status == FAILED:
        where = entry.nodes or "its node"
        return _lost(NODE_FAILURE, f"its script did not start on {where}; Slurm reports {entry.state}")
    return None


def _outcome_after_start(ended: EndedWithoutRecord, log: Path) -> Outcome:
    if ended.status == CANCELLED and ended.had_no_turn:
        return _lost(CANCELLED, CANCELLED_BEFORE_START)
    slurm = f"Slurm reports {ended.entry.state}" if ended.entry else "Slurm has no data on it"
    return Outcome(ended.status, _error(f"{NO_RECORD}; {slurm}", ended.own_log or log))


def reconcile_local(sweep: Sweep, job: str, element: int, planned: PlannedRun, was_too_late: bool) -> Record:
    """Write and return a record for a local run whose driver left none; `was_too_late` makes it a timeout."""
    message = f"{NO_RECORD} within {sweep.limit_s(job)} s" if was_too_late else NO_RECORD
    error = _error(message, sweep.paths.log(job, element, None))
    key = RecordKey(job, element, job, None)
    folders = list(sweep.paths.running(job).glob(f"{element}-*"))
    made = _make(sweep, key, planned, Outcome(TIMEOUT if was_too_late else FAILED, error), folders, {})
    is_kept = _keep_results(made)
    node_record.append(made.record, str(sweep.paths.local_records(job)))
    _put_away(sweep, made._replace(submitted_by=os.getuid()), is_kept)
    return made.record


def _lost(status: str, message: str) -> Outcome:
    return Outcome(status, {"type": LOST, "message": message, "last_lines": []})


def _error(message: str, log: Path) -> dict[str, object]:
    lines = tail(str(log))
    gave_up = next((place for place, line in enumerate(lines) if line.startswith(GAVE_UP)), None)
    if gave_up is not None:
        printed = " ".join(" ".join(lines[:gave_up]).split())[-MAX_WORDS:]
        reason = lines[gave_up].removeprefix(GAVE_UP)
        return {"type": SETUP, "message": f"{reason}: {printed}" if printed else reason, "last_lines": lines}
    last = complaint.of_slurm(lines) or complaint.last_words(lines)
    return {"type": LOST, "message": f"{message}; its log ends: {last}" if last else message, "last_lines": lines}


def _make(
    sweep: Sweep,
    key: RecordKey,
    planned: PlannedRun,
    outcome: Outcome,
    folders: Sequence[Path],
    slurm_variables: dict[str, str],
) -> ConcludedRecord:
    """Return the record of a run. The ranks decide the outcome if they had ended before their script was killed."""
    latest = _latest(folders)
    ranks = node_record.read_ranks(str(latest)) if latest else []
    if latest:
        outcome = of_ranks_alone(planned, sweep.description, ranks, str(latest)) or outcome
    monitored = monitor_summary.of_run(ranks if latest else [], str(latest), planned.on_gpus)
    record = node_record.assemble(planned, sweep.description, key, ranks, outcome, 0.0, slurm_variables, monitored)
    return ConcludedRecord(node_record.without_secrets(record, os.environ), planned, latest, folders)


def _latest(folders: Sequence[Path]) -> Path | None:
    """Return the folder with the latest change, among those that still exist."""
    changed: dict[Path, int] = {}
    for folder in folders:
        with suppress(FileNotFoundError):
            changed[folder] = folder.stat().st_mtime_ns
    return max(changed, key=lambda folder: changed[folder], default=None)


@contextmanager
def alone(sweep: Sweep) -> Iterator[str]:
    """Hold the lock for saving outcomes, so that two hpcbench processes do not conclude different ones.

    Yield the reason why nothing can be saved, or an empty text. Raise NoAnswerError if another hpcbench holds the lock
    for longer than TIMEOUT_S.
    """
    taken = NoAnswerError("another hpcbench is saving the outcomes of this sweep", hint="try again")
    with ExitStack() as held:
        try:
            sweep.check_writable()
            make_folder(str(sweep.paths.records))
            held.enter_context(exclusive(sweep.paths.records / ".reconciling", taken, TIMEOUT_S))
            reason = ""
        except NoAnswerError:
            raise
        except UserError as error:
            reason = str(error)
        except OSError as error:
            reason = f"{sweep.paths.records}: {error.strerror}"
        yield reason


def save(sweep: Sweep, concluded: Sequence[ConcludedRecord], reason: str) -> list[str]:
    """Write these records, or nothing if `reason` is not empty; return warnings.

    Remove the files from which they were concluded, except timelines: the files must not decide a later attempt.
    """
    if not concluded:
        return []
    path = sweep.paths.records / RECONCILED
    outcomes = plural(len(concluded), "outcome")
    if reason:
        return [f"{outcomes} not saved: {reason}"]
    try:
        kept = [_keep_results(each) for each in concluded]
        node_record.append_all([each.record for each in concluded], str(path))
    except OSError as error:
        return [f"{outcomes} not saved: {path}: {error.strerror}"]
    for each, is_kept in zip(concluded, kept, strict=True):
        oom_pruning.note(each.planned, each.record.status, str(sweep.paths.results))
        _put_away(sweep, each, is_kept)
    return []


def _records_of(folder: Path) -> str:
    """Return the file of records whose neighbours keep what is in a scratch folder."""
    return str(folder.parents[2] / "records" / folder.parent.name / RECONCILED)


def _keep_results(made: ConcludedRecord) -> bool:
    """Move profile and trajectory of a run to their final folders before its record; return whether they are there."""
    if not made.scratch:
        return True
    folder, records = str(made.scratch), _records_of(made.scratch)
    rows = operator_rows.keep(made.record, node_record.read_ranks(folder), folder, records)
    return trajectory_file.keep(made.record, folder, records) and rows


def _put_away(sweep: Sweep, made: ConcludedRecord, is_kept: bool) -> None:
    """Move timelines and output of a run to their final folders, and remove the files that its record was made from."""
    if made.scratch:
        folder, experiment = str(made.scratch), sweep.description["experiment"]
        records = _records_of(made.scratch)
        monitor_summary.keep(folder, node_record.timelines_beside(records))
        ranks = node_record.read_ranks(folder)
        kept_output.keep(made.planned, made.record, experiment, ranks, folder, records)
    if scratch.may_delete(made.job, made.submitted_by, is_saved=is_kept):
        scratch.delete(made.used)


def unfinished_record(sweep: Sweep, run: RunProgress) -> Record:
    """Return a record of a run that has not ended: its parameters and its state, without times or measurements.

    A run that Slurm will not start, or that sbatch refused, has the reason as its error.
    """
    key = RecordKey(run.job, run.element, run.job, None)
    is_stuck = run.waits_for_ever or run.is_refused
    found = _lost(run.state, run.reason) if is_stuck else Outcome(run.state, None)
    record = node_record.assemble(run.planned, sweep.description, key, [], found, 0.0, {})
    return replace(record, started_at="", ended_at="")
