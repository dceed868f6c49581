"""The plan, journal, jobs, records and local processes of a sweep at one time. This module only reads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from hpcbench.config.retry import Retry
from hpcbench.core import status
from hpcbench.core.record import Record
from hpcbench.core.run_spec import Pack, PlannedRun
from hpcbench.errors import UserError
from hpcbench.slurm import queue
from hpcbench.slurm.queue import Element, Queue, QueueEntry
from hpcbench.store.journal import Batch, Journal
from hpcbench.store.records import RecordFiles, array_of, index_of, read_later, read_records
from hpcbench.store.sweep import Sweep

RunKey = tuple[str, int]  # job and element
Scratch = Mapping[int, Sequence[Path]]  # by element


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
class Accounting:
    """The data of Slurm on array elements that have left the queue without a record."""

    entries: Mapping[Element, QueueEntry] = field(default_factory=dict)
    unanswered: frozenset[Element] = frozenset()
    known_arrays: frozenset[str] = frozenset()  # arrays of which Slurm still lists at least one element


@dataclass(frozen=True)
class Snapshot:
    """All data from which `survey` decides the state of each run."""

    sweep: Sweep
    runs: Mapping[RunKey, PlannedRun]
    records: Mapping[RunKey, Sequence[Record]] = field(default_factory=dict)
    array_indices: Mapping[RunKey, ArrayIndex] = field(default_factory=dict)  # the latest of each submitted run
    queue: Queue | None = None  # None if Slurm was not queried
    accounting: Accounting = Accounting()
    scratch: Mapping[str, Scratch] = field(default_factory=dict)  # by batch: folders and logs of unrecorded attempts
    logged: frozenset[Element] = frozenset()  # elements of Slurm that have left the queue and have a log
    running_here: frozenset[RunKey] = frozenset()  # runs of processes on this machine
    concluded: Mapping[RunKey, Record] = field(default_factory=dict)  # for runs whose job ended without a record
    warnings: tuple[str, ...] = ()
    uid: int = field(default_factory=os.getuid)
    record_sizes: Mapping[Path, int] = field(default_factory=dict)  # how many bytes of each file were read

    @cached_property
    def retry(self) -> Retry:
        return self.sweep.retry

    @cached_property
    def recorded(self) -> frozenset[Element]:
        """Return the array elements of Slurm that have a record of any run."""
        every = (record for records in self.records.values() for record in records)
        return frozenset((array_of(each) or "", index_of(each) or 0) for each in every if array_of(each) is not None)

    def active_entry(self, key: RunKey) -> QueueEntry | None:
        """Return the queue entry of the job of a run, or None if the job has ended or was not submitted."""
        place = self.array_indices.get(key)
        entry = self.queue.entries.get(place.element) if place and self.queue else None
        return entry if entry is not None and not entry.ended else None

    def has_outcome(self, key: RunKey) -> bool:
        """Return whether a run has completed, or has a record by the last job to which it was submitted."""
        records, place = self.records.get(key, ()), self.array_indices.get(key)
        if place is None or place.batch.slurm_id is None:
            return bool(records)
        array = place.batch.slurm_id
        return any(each.status == status.COMPLETED or array_of(each) == array for each in records)

    def gone(self) -> list[RunKey]:
        """Return the runs whose job has left the queue without a record; none if Slurm was not queried."""
        if self.queue is None:
            return []
        submitted = (key for key, place in self.array_indices.items() if place.batch.slurm_id is not None)
        return [
            key
            for key in submitted
            if key in self.runs and self.active_entry(key) is None and not self.has_outcome(key)
        ]


def take_snapshot(sweep: Sweep, *, ask_slurm: bool = True) -> Snapshot:
    """Return a snapshot of a sweep: one squeue, and one sacct if a job has left the queue without a record.

    Query Slurm first and read the records afterwards, so that a job that ends in between has its record. Read new
    records again if a job seems to have ended without one. Raise UserError if squeue does not respond.
    """
    paths = sweep.paths
    journal = Journal.read(paths)
    on_slurm = sweep.scheduler == "slurm"
    queued = queue.query(paths.name, sweep.job_names, journal) if ask_slurm and on_slurm else None
    found = read_records(paths)
    snapshot = Snapshot(
        sweep,
        runs={(job, element): run for job in sweep.job_names for element, run in enumerate(sweep.runs(job))},
        records=_by_run(found.records),
        array_indices=_array_indices(sweep, journal, queued),
        queue=queued,
        warnings=tuple(f"a damaged line is ignored: {place}" for place in found.damaged),
        record_sizes=found.sizes,
    )
    if queued is not None:
        return _with_what_jobs_left(snapshot, queued)
    return snapshot if on_slurm else replace(snapshot, running_here=_running_here(snapshot))


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


def _array_indices(sweep: Sweep, journal: Journal, queued: Queue | None) -> dict[RunKey, ArrayIndex]:
    """Return the latest array index of each run. Jobs submitted by a bare sbatch count while they are in the queue."""
    bare = [Batch(sweep.paths, job, array_id) for job, array_id in (queued.bare if queued else ())]
    return {
        (batch.job, element): ArrayIndex(batch, index, pack)
        for batch in (*journal.accepted, *bare)
        for index, pack in enumerate(batch.packs)
        for element in pack
        if batch.name != batch.job or (queued and queued.is_active((str(batch.slurm_id), index)))
    }


def _with_what_jobs_left(snapshot: Snapshot, queued: Queue) -> Snapshot:
    """Query the accounting for the jobs that have left the queue, and find their folders and logs."""
    paths, places = snapshot.sweep.paths, snapshot.array_indices
    gone = {key: places[key] for key in snapshot.gone()}
    accounting, warnings = _accounting(queued, {place.element for place in gone.values()})
    shared = (place for key, place in places.items() if len(place.pack) > 1 and snapshot.active_entry(key))
    batches = {place.batch.name for place in (*gone.values(), *shared)}
    logs = {place.element: paths.log(place.batch.name, place.index, place.batch.slurm_id) for place in gone.values()}
    found = replace(
        snapshot,
        accounting=accounting,
        scratch={batch: _scratch(paths.running(batch)) for batch in batches},
        logged=frozenset(element for element, log in logs.items() if log.exists()),
        warnings=(*snapshot.warnings, *warnings),
    )
    return with_later_records(found) if gone else found


def _accounting(queued: Queue, gone: set[Element]) -> tuple[Accounting, list[str]]:
    """Return Slurm's data on elements that have ended, and warnings. squeue still lists some of them."""
    entries = {element: queued.entries[element] for element in gone if element in queued.entries}
    unanswered = gone - entries.keys()
    try:
        entries.update(queue.accounted(unanswered))
    except UserError as error:
        warning = f"{error.what}; the outcome of jobs without a record is still unknown"
        return Accounting(entries, frozenset(unanswered)), [warning]
    return Accounting(entries, known_arrays=frozenset(array for array, _ in (*queued.entries, *entries))), []


def _scratch(running: Path) -> Scratch:
    found: dict[int, list[Path]] = {}
    try:
        for path in running.iterdir():
            number = path.name.partition("-")[0]
            if number.isdecimal():
                found.setdefault(int(number), []).append(path)
    except OSError:
        return {}
    return found


def _running_here(snapshot: Snapshot) -> frozenset[RunKey]:
    """Return the runs without a record that another hpcbench on this machine is running."""
    paths = snapshot.sweep.paths
    jobs = {job for job, element in snapshot.runs if not snapshot.records.get((job, element))}
    return frozenset(
        (job, element)
        for job in jobs
        for element, folders in _scratch(paths.running(job)).items()
        if any(_is_run_by(folder.name.partition("-")[2].partition("-")[0], paths.runs(job)) for folder in folders)
    )


def _is_run_by(process: str, runs: Path) -> bool:
    """Return whether a process is the driver of the job with the file `runs`: process IDs are reused after a crash."""
    try:
        words = Path("/proc", process, "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(word.endswith(os.fsencode(f"/{runs.parent.name}/{runs.name}")) for word in words)
