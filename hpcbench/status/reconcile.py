"""Records for repetitions whose job ended without writing one: from what its ranks, its log and Slurm still tell."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hpcbench.core import oom_pruning
from hpcbench.core.files import make_folder
from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.status import CANCELLED, FAILED, NEVER_STARTED, NODE_FAILURE
from hpcbench.errors import UserError
from hpcbench.node.results import monitor_summary, outcome
from hpcbench.node.results import record_writer as node_record
from hpcbench.node.results.outcome import Outcome, of_ranks_alone, tail
from hpcbench.slurm import states
from hpcbench.slurm.client import NoAnswerError
from hpcbench.slurm.queue import QueueEntry
from hpcbench.status.progress import RunProgress
from hpcbench.store.journal import Batch
from hpcbench.store.records import RECONCILED, Record
from hpcbench.store.sweep import Sweep
from hpcbench.util.locking.flock import exclusive

NO_RECORD = "its job ended without leaving a record"
GAVE_UP = "hpcbench: gave up: "  # how a job script says that it cannot go on
SETUP, LOST = "setup", "job"  # types of errors: the script could not go on; the job has left nothing
MOST_WORDS = 500
PATIENCE_S = 20.0


class MadeUp(NamedTuple):
    """A record that was made here, the scratch folder that it was made from, and all that is used up by that."""

    record: Record
    planned: PlannedRun
    scratch: Path | None = None
    used: Sequence[Path] = ()


@dataclass(frozen=True)
class Left:
    """What a job has left of a repetition that it did not record: among what runs, a scratch folder for each attempt;
    and, where it ran beside others, what it has printed. Nothing of one that had no turn, as its job ran others."""

    batch: Batch
    index: int
    element: int
    files: Sequence[Path] = ()
    had_no_turn: bool = False

    @property
    def folders(self) -> list[Path]:
        return [path for path in self.files if path.suffix != ".log"]

    @property
    def own_log(self) -> Path | None:
        return next((path for path in self.files if path.suffix == ".log"), None)


def reconcile(sweep: Sweep, left: Left, planned: PlannedRun, entry: QueueEntry | None) -> MadeUp:
    """The record that a job of Slurm could not write."""
    batch, index = left.batch, left.index
    status = (states.outcome_of(entry.state) if entry else None) or FAILED
    log = sweep.paths.log(batch.name, index, batch.slurm_id)
    unstarted = entry is not None and not log.exists()
    if entry is not None and unstarted and entry.could_not_log:
        status = NODE_FAILURE
        error = _plain(f"{entry.nodes or 'its node'} could not write {log}: does it see this folder?")
    elif entry is not None and unstarted and entry.never_started:
        status = NEVER_STARTED
        error = _plain(f"Slurm never started it: {states.in_words(entry.reason)}")
    elif status == CANCELLED and (unstarted or left.had_no_turn):
        error = _plain("cancelled before it started")
    elif entry is not None and unstarted and status == FAILED:
        status = NODE_FAILURE
        error = _plain(f"its script never began on {entry.nodes or 'its node'}; Slurm says {entry.state}")
    else:
        said = f"Slurm says {entry.state}" if entry else "Slurm no longer knows it"
        error = _error(f"{NO_RECORD}; {said}", left.own_log or log)
    variables = {"SLURM_ARRAY_JOB_ID": str(batch.slurm_id), "SLURM_ARRAY_TASK_ID": str(index)}
    place = node_record.Place(batch.job, left.element, batch.name, None)
    made = _make(sweep, place, planned, Outcome(status, error), left.folders, variables)
    return made._replace(used=left.files)


def reconcile_local(sweep: Sweep, job: str, element: int, planned: PlannedRun) -> Record:
    """Write the record that a script on this machine could not write, behind those that others have written."""
    error = _error(NO_RECORD, sweep.paths.log(job, element, None))
    place = node_record.Place(job, element, job, None)
    scratch = list(sweep.paths.running(job).glob(f"{element}-*"))
    made = _make(sweep, place, planned, Outcome(FAILED, error), scratch, {})
    node_record.append(made.record, str(sweep.paths.local_records(job)))
    _put_away(made)
    return made.record


def _plain(message: str) -> dict[str, object]:
    return {"type": LOST, "message": message, "last_lines": []}


def _error(message: str, log: Path) -> dict[str, object]:
    lines = tail(str(log))
    gave_up = next((place for place, line in enumerate(lines) if line.startswith(GAVE_UP)), None)
    if gave_up is not None:
        complaint = " ".join(" ".join(lines[:gave_up]).split())[-MOST_WORDS:]
        reason = lines[gave_up].removeprefix(GAVE_UP)
        return {"type": SETUP, "message": f"{reason}: {complaint}" if complaint else reason, "last_lines": lines}
    last = next((line for line in reversed(lines) if line.strip()), "")
    return {"type": LOST, "message": f"{message}; its log ends: {last}" if last else message, "last_lines": lines}


def _make(
    sweep: Sweep,
    place: node_record.Place,
    planned: PlannedRun,
    outcome: Outcome,
    folders: Sequence[Path],
    slurm_variables: dict[str, str],
) -> MadeUp:
    """Ranks that had finished before their script was killed still tell the outcome."""
    scratch = _latest(folders)
    ranks = node_record.read_ranks(str(scratch)) if scratch else []
    if scratch:
        outcome = of_ranks_alone(planned, sweep.description, ranks, str(scratch)) or outcome
    seen = monitor_summary.of_repetition(ranks, str(scratch), planned.on_gpus) if scratch else monitor_summary.Seen()
    record = node_record.assemble(planned, sweep.description, place, ranks, outcome, 0.0, slurm_variables, seen)
    return MadeUp(node_record.without_secrets(record, os.environ), planned, scratch, folders)


def _latest(folders: Sequence[Path]) -> Path | None:
    """The one that was changed last, of those that are still there."""
    changed: dict[Path, int] = {}
    for folder in folders:
        with suppress(FileNotFoundError):
            changed[folder] = folder.stat().st_mtime_ns
    return max(changed, key=lambda folder: changed[folder], default=None)


@contextmanager
def alone(sweep: Sweep) -> Iterator[str]:
    """Make up records while nobody else does: from what one has concluded, another must not conclude anything else.

    Gives the reason why nothing can be written down, which is no reason not to look. Raises NoAnswerError where another
    hpcbench takes very long.
    """
    taken = NoAnswerError("another hpcbench writes down how jobs of this sweep have ended", hint="try again")
    with ExitStack() as held:
        try:
            sweep.check_writable()
            make_folder(str(sweep.paths.records))
            held.enter_context(exclusive(sweep.paths.records / ".reconciling", taken, PATIENCE_S))
            reason = ""
        except NoAnswerError:
            raise
        except UserError as error:
            reason = str(error)
        except OSError as error:
            reason = f"{sweep.paths.records}: {error.strerror}"
        yield reason


def keep(sweep: Sweep, made_up: Sequence[MadeUp], reason: str) -> list[str]:
    """Write these records down, unless there is a reason why that is impossible; return warnings.

    What they were made from is used once and removed, but for the timelines: it must not speak for a later attempt.
    """
    if not made_up:
        return []
    path = sweep.paths.records / RECONCILED
    if reason:
        return [f"{len(made_up)} outcomes are not written down: {reason}"]
    try:
        node_record.append_all([made.record for made in made_up], str(path))
    except OSError as error:
        return [f"{len(made_up)} outcomes cannot be written to {path}: {error.strerror}"]
    for made in made_up:
        oom_pruning.note(made.planned, made.record["status"], str(sweep.paths.results))
        _put_away(made)
    return []


def _put_away(made: MadeUp) -> None:
    if made.scratch:
        records = made.scratch.parents[2] / "records" / made.scratch.parent.name / RECONCILED
        monitor_summary.keep(str(made.scratch), node_record.timelines_beside(str(records)))
    for used in made.used:
        if used.suffix == ".log":
            used.unlink(missing_ok=True)
        else:
            shutil.rmtree(used, ignore_errors=True)


def unfinished_record(sweep: Sweep, run: RunProgress) -> Record:
    """A row for a repetition that has not ended: its parameters and its state, and nothing measured. Not written."""
    place = node_record.Place(run.job, run.element, run.job, None)
    record = node_record.assemble(run.planned, sweep.description, place, [], outcome.Outcome(run.state, None), 0.0, {})
    return {**record, "started_at": None, "ended_at": None}
