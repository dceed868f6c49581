"""The plan, journal, jobs, records and local processes of a sweep at one time. This module only reads."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from hpcbench.config.retry import Retry
from hpcbench.core import status
from hpcbench.core.record import Record
from hpcbench.core.run_spec import Pack, PlannedRun
from hpcbench.slurm import queue
from hpcbench.slurm.client import using
from hpcbench.slurm.group_limits import with_never
from hpcbench.slurm.job_entry import Element, JobEntry
from hpcbench.slurm.queue import Queue
from hpcbench.slurm.submit_limits import exceeded_limit
from hpcbench.slurm.sweep_cluster import check_cluster
from hpcbench.status import job_states
from hpcbench.status.evidence import ACTIVE, ENDED, JobState
from hpcbench.status.scratch import Scratch, find_scratch, latest_change
from hpcbench.store.journal import NOT_FOUND, Batch, Journal
from hpcbench.store.records import (
    RecordFiles,
    array_of,
    best_attempt,
    has_interference,
    in_order,
    index_of,
    read_later,
    read_records,
)
from hpcbench.store.sweep import Sweep

RunKey = tuple[str, int]  # job and element


@dataclass(frozen=True)
class ArrayIndex:
    """The index of an array that runs a pack of elements, one after another."""

    batch: Batch
    index: int
    pack: Pack

    @property
    def element(self) -> Element:
        return str(self.batch.slurm_id), self.index


@dataclass(frozen=True)
class Snapshot:
    """All data from which `survey` decides the state of each run."""

    sweep: Sweep
    runs: Mapping[RunKey, PlannedRun]
    records: Mapping[RunKey, Sequence[Record]] = field(default_factory=dict)
    array_indices: Mapping[RunKey, ArrayIndex] = field(default_factory=dict)  # the latest of each submitted run
    jobs: Mapping[Element, JobState] | None = None  # by Slurm, of runs that need it; None if Slurm was not queried
    follow_on: Mapping[str, str] = field(default_factory=dict)  # as queue.Queue has it
    known_arrays: frozenset[str] = frozenset()  # arrays of which Slurm reports at least one task
    first_unknown: frozenset[Element] = frozenset()  # unknown to slurmctld, which the journal does not have yet
    complaint: str = ""  # of squeue: there may be jobs of a bare sbatch that it did not list
    scratch: Mapping[str, Scratch] = field(default_factory=dict)  # by batch: folders and logs of unrecorded attempts
    logged: frozenset[Element] = frozenset()  # elements of Slurm that have left the queue and have a log
    running_here: frozenset[RunKey] = frozenset()  # runs of processes on this machine
    concluded: Mapping[RunKey, Record] = field(default_factory=dict)  # for runs whose job ended without a record
    warnings: tuple[str, ...] = ()
    uid: int = field(default_factory=os.getuid)
    record_sizes: Mapping[Path, int] = field(default_factory=dict)  # how many bytes of each file were read
    refused: Mapping[RunKey, str] = field(default_factory=dict)  # why sbatch refused the latest job of a run

    @cached_property
    def retry(self) -> Retry:
        return self.sweep.retry

    @cached_property
    def recorded(self) -> frozenset[Element]:
        """Return the array tasks of Slurm that have a record of any run."""
        every = (record for records in self.records.values() for record in records)
        return frozenset((array_of(each) or "", index_of(each) or 0) for each in every if array_of(each) is not None)

    def job(self, key: RunKey) -> JobState | None:
        """Return the state of the job of a run by Slurm; None if it was not submitted or Slurm was not queried."""
        place = self.array_indices.get(key)
        return self.jobs.get(place.element) if place and self.jobs is not None else None

    def active_entry(self, key: RunKey) -> JobEntry | None:
        """Return the queue entry of the job of a run, or None unless Slurm reports that it is in the queue."""
        job = self.job(key)
        return job.entry if job is not None and job.kind == ACTIVE else None

    def has_outcome(self, key: RunKey) -> bool:
        """Return whether a run has completed, or has a record by the last job to which it was submitted."""
        records, place = self.records.get(key, ()), self.array_indices.get(key)
        if place is None or place.batch.slurm_id is None:
            return bool(records)
        array = place.batch.slurm_id
        return any(each.status == status.COMPLETED or array_of(each) == array for each in records)

    def gone(self) -> list[RunKey]:
        """Return the runs whose job has ended without a record, according to evidence.py."""
        jobs = ((key, self.job(key)) for key in self.array_indices if key in self.runs)
        return [key for key, job in jobs if job is not None and job.kind == ENDED and not self.has_outcome(key)]


def take_snapshot(sweep: Sweep, *, ask_slurm: bool = True) -> Snapshot:
    """Return a snapshot of a sweep: first its records, then what Slurm reports on the jobs of runs without an outcome.

    Read new records again after Slurm has responded, so that a job that ends in between has its record. Raise UserError
    if Slurm does not respond, or if its commands reach another cluster than that of the sweep.
    """
    paths = sweep.paths
    journal = Journal.read(paths)
    found = read_records(paths)
    snapshot = Snapshot(
        sweep=sweep,
        runs={(job, element): run for job in sweep.job_names for element, run in enumerate(sweep.runs(job))},
        records=_by_run(found.records),
        array_indices=_array_indices(journal.accepted),
        refused=_refused(journal.batches),
        warnings=tuple(f"a damaged line is ignored: {place}" for place in found.damaged),
        record_sizes=found.sizes,
    )
    if sweep.scheduler != "slurm":
        return replace(snapshot, running_here=_running_here(snapshot))
    if not ask_slurm:
        return snapshot
    with using(sweep.slurm_conf):
        return _with_slurm(snapshot, journal)


def with_later_records(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot with the records that were written since it was taken, each once."""
    later = _by_run(read_later(snapshot.sweep.paths, RecordFiles(sizes=dict(snapshot.record_sizes))))
    changed: dict[RunKey, list[Record]] = {}
    for key, records in later.items():
        known = snapshot.records.get(key, ())
        changed[key] = [*known, *(record for record in records if record not in known)]
    return replace(snapshot, records={**snapshot.records, **changed})


def _by_run(records: Iterable[Record]) -> dict[RunKey, list[Record]]:
    found: dict[RunKey, list[Record]] = {}
    for record in records:
        found.setdefault((record.job, record.element), []).append(record)
    return found


def _array_indices(batches: Iterable[Batch]) -> dict[RunKey, ArrayIndex]:
    """Return the latest array index of each run."""
    return {
        (batch.job, element): ArrayIndex(batch, index, pack)
        for batch in batches
        for index, pack in enumerate(batch.packs)
        for element in pack
    }


def _refused(batches: Iterable[Batch]) -> dict[RunKey, str]:
    """Return the message with which sbatch refused the latest job of each run.

    Refusals because of too many jobs are left out: sbatch may accept the same job later.
    """
    found: dict[RunKey, str] = {}
    for batch in batches:
        is_lasting = batch.refusal not in ("", NOT_FOUND) and not exceeded_limit(batch.refusal)
        if batch.rejected and not (is_lasting and batch.paths.packs(batch.name).is_file()):
            continue
        for key in ((batch.job, element) for pack in batch.packs for element in pack):
            found.pop(key, None)
            if batch.rejected:
                at = datetime.datetime.fromtimestamp(batch.refused_at).astimezone()
                message = batch.refusal.replace("Batch job submission failed: ", "")
                found[key] = f"sbatch refused it at {at:%Y-%m-%d %H:%M:%S}: {message}"
    return found


def _with_slurm(snapshot: Snapshot, journal: Journal) -> Snapshot:
    """Ask Slurm for the jobs of runs that may not have ended, and find the folders and logs that jobs have left."""
    sweep = snapshot.sweep
    config = check_cluster(sweep, journal)
    asked = {str(place.batch.slurm_id) for key, place in snapshot.array_indices.items() if _may_run(snapshot, key)}
    queued = queue.query(sweep, journal, asked - {"None"})
    queued = replace(queued, entries=with_never(queued.entries, config, sweep.other_cluster))
    snapshot = replace(snapshot, array_indices=_with_bare(snapshot, queued))
    open_runs = {
        key: place
        for key, place in snapshot.array_indices.items()
        if key in snapshot.runs and place.batch.slurm_id is not None and not snapshot.has_outcome(key)
    }
    scratch = {
        name: find_scratch(sweep.paths.running(name)) for name in {each.batch.name for each in open_runs.values()}
    }
    owners = {place.element: place.batch.uid for place in open_runs.values()}
    found = job_states.ask_for(sweep, journal, owners, _changes(open_runs, scratch), queued, config)
    active = {element: JobState(ACTIVE, entry) for element, entry in queued.entries.items() if not entry.ended}
    quiet = {place.element: place for place in open_runs.values() if place.element not in active}
    logs = {element: sweep.paths.log(place.batch.name, place.index, element[0]) for element, place in quiet.items()}
    return with_later_records(
        replace(
            snapshot,
            jobs={**active, **found.of},
            follow_on=queued.follow_on,
            known_arrays=found.known_arrays,
            first_unknown=found.first_unknown,
            complaint=queued.complaint,
            scratch=scratch,
            logged=frozenset(element for element, log in logs.items() if log.exists()),
            warnings=(*snapshot.warnings, *found.warnings),
        )
    )


def _may_run(snapshot: Snapshot, key: RunKey) -> bool:
    """Return whether the job of a run may still be active: it has not completed, or is repeated."""
    best = best_attempt(in_order(snapshot.records.get(key, ())))
    return best is None or best.status != status.COMPLETED or has_interference(best) or not snapshot.has_outcome(key)


def _with_bare(snapshot: Snapshot, queued: Queue) -> dict[RunKey, ArrayIndex]:
    """Return the latest array index of each run, also of jobs that the user submitted with a bare sbatch.

    Such a job takes precedence while it is in the queue. One that has ended counts for runs that hpcbench did not
    submit, for as long as squeue lists it: its records may not be visible yet.
    """
    bare = _array_indices(Batch(snapshot.sweep.paths, job, array_id) for job, array_id in queued.bare)
    listed = {key: place for key, place in bare.items() if place.element in queued.entries}
    active = {key: place for key, place in listed.items() if queued.is_active(place.element)}
    return {**listed, **snapshot.array_indices, **active}


def _changes(runs: Mapping[RunKey, ArrayIndex], scratch: Mapping[str, Scratch]) -> dict[Element, float]:
    """Return the latest change of the files of the runs of each element, in seconds since the epoch."""
    found: dict[Element, float] = {}
    for (_, run), place in runs.items():
        changed_at = latest_change(scratch[place.batch.name].get(run, ()))
        if changed_at is not None:
            found[place.element] = max(found.get(place.element, 0.0), changed_at)
    return found


def _running_here(snapshot: Snapshot) -> frozenset[RunKey]:
    """Return the runs without a record that another hpcbench on this machine is running."""
    paths = snapshot.sweep.paths
    jobs = {job for job, element in snapshot.runs if not snapshot.records.get((job, element))}
    return frozenset(
        (job, element)
        for job in jobs
        for element, folders in find_scratch(paths.running(job)).items()
        if any(_is_run_by(folder.name.partition("-")[2].partition("-")[0], paths.runs(job)) for folder in folders)
    )


def _is_run_by(process: str, runs: Path) -> bool:
    """Return whether a process is the driver of the job with the file `runs`: process IDs are reused after a crash."""
    try:
        words = Path("/proc", process, "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(word.endswith(os.fsencode(f"/{runs.parent.name}/{runs.name}")) for word in words)
