"""From the plan, the journal, Slurm's queue and the records to where each repetition of a sweep stands."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from hpcbench.core import status
from hpcbench.core.run_spec import PlannedRun
from hpcbench.errors import UserError
from hpcbench.plan.packing import Pack
from hpcbench.slurm import queue, states
from hpcbench.slurm.queue import Element, QueueEntry
from hpcbench.status import reconcile
from hpcbench.status.progress import PLANNED, UNKNOWN, Progress, RunProgress
from hpcbench.store.journal import Batch, Journal
from hpcbench.store.records import (
    Record,
    array_of,
    best_attempt,
    disturbed_by,
    in_order,
    index_of,
    is_disturbed,
    read_later,
    read_records,
)
from hpcbench.store.sweep import Sweep
from hpcbench.util.gc_pause import without_garbage_collection

OTHERS_FIRST = "its job runs others first"


def survey_or_records(sweep: Sweep) -> Progress:
    """The state of every repetition; what the records alone can tell, and a warning, where Slurm cannot be asked."""
    try:
        return survey(sweep)
    except UserError as error:
        told = survey(sweep, ask_slurm=False)
        return replace(told, warnings=(*told.warnings, f"{error.what}; only the records are counted"))


@without_garbage_collection()
def survey(sweep: Sweep, *, ask_slurm: bool = True) -> Progress:
    """The state of every repetition of a sweep.

    A repetition whose job has ended without a record gets one here, so that no outcome is lost when Slurm forgets.
    Raises UserError where Slurm has to be asked and does not answer.
    """
    journal = Journal.read(sweep.paths)
    # Slurm first, records after: a job that ends in between has its record then.
    queued = queue.ask(sweep.paths.name, sweep.job_names, journal) if ask_slurm and _on_slurm(sweep) else None
    found = read_records(sweep.paths)
    view = _View(sweep, _turns(sweep, journal, queued), queued)
    view.add(found.records)
    runs = [_Run(view, job, *place).state() for job in sweep.job_names for place in enumerate(sweep.runs(job))]
    view.warnings += [f"a damaged line is left out: {place}" for place in found.damaged]
    gone = [run for run in runs if run.state == _GONE]
    if gone:
        view.account(gone)
        with reconcile.alone(sweep) as reason:
            view.add(read_later(sweep.paths, found))  # of a job that ended meanwhile, and of another hpcbench
            now = {id(run): _Run(view, run.job, run.element, run.planned).state() for run in gone}
            runs = [now.get(id(run), run) for run in runs]
            view.warnings += reconcile.keep(sweep, view.made_up, reason)
    return Progress(sweep, tuple(runs), tuple(view.warnings), queued.follow_on if queued else {})


def _on_slurm(sweep: Sweep) -> bool:
    return sweep.scheduler == "slurm"


@dataclass(frozen=True)
class _Turn:
    """Where a repetition is to run: an index of an array."""

    batch: Batch
    index: int

    @property
    def pack(self) -> Pack:
        return self.batch.packs[self.index]

    @property
    def element(self) -> Element:
        return str(self.batch.slurm_id), self.index


Turns = dict[tuple[str, int], _Turn]


def _turns(sweep: Sweep, journal: Journal, queued: queue.Queue | None) -> Turns:
    """The latest turn of each repetition; jobs that somebody submitted without hpcbench count while they are there."""
    bare = [Batch(sweep.paths, job, array_id) for job, array_id in (queued.bare if queued else ())]
    return {
        (batch.job, element): _Turn(batch, index)
        for batch in (*journal.accepted, *bare)
        for index, pack in enumerate(batch.packs)
        for element in pack
        if batch.name != batch.job or (queued and queued.is_active((str(batch.slurm_id), index)))
    }


_GONE = "gone"  # ended without a record: the accounting may tell how, or the record may come yet


@dataclass
class _View:
    """What is known beside the plan and the records."""

    sweep: Sweep
    turns: Turns
    queued: queue.Queue | None
    ended: dict[Element, QueueEntry] | None = None  # how jobs ended; None while that was not asked
    warnings: list[str] = field(default_factory=list)
    unknown: set[Element] = field(default_factory=set)  # the accounting gave no answer
    known_arrays: set[str] = field(default_factory=set)  # Slurm still knows something of them
    made_up: list[reconcile.MadeUp] = field(default_factory=list)
    records: dict[tuple[str, int], list[Record]] = field(default_factory=dict)  # by job and element
    recorded: set[tuple[str | None, int | None]] = field(default_factory=set)  # the jobs that have written some
    _scratch: dict[str, dict[int, list[Path]]] = field(default_factory=dict)

    def add(self, records: Iterable[Record]) -> None:
        """Records that were read. What had begun before may have ended."""
        self._scratch.clear()
        for record in records:
            self.records.setdefault((record["job"], record["element"]), []).append(record)
            if record["attempt"] is not None:
                self.recorded.add((array_of(record), index_of(record)))

    def account(self, gone: Iterable[RunProgress]) -> None:
        """Ask the accounting about those that have left the queue; what is still listed there as ended, it has told."""
        entries = self.queued.entries if self.queued else {}
        elements = {(str(run.slurm_id), int(run.index or 0)) for run in gone}
        self.ended = {element: entries[element] for element in elements if element in entries}
        try:
            self.ended.update(queue.accounted(elements - self.ended.keys()))
            self.known_arrays = {array for array, _ in (*entries, *self.ended)}
        except UserError as error:
            self.unknown = elements - self.ended.keys()
            self.warnings.append(f"{error.what}; how jobs ended that left no record is not known yet")

    def has_log(self, turn: _Turn) -> bool:
        """Whether its job has started: Slurm forgets what ended long ago sooner than the rest of an array."""
        return self.sweep.paths.log(turn.batch.name, turn.index, turn.batch.slurm_id).exists()

    def begun(self, batch: str) -> dict[int, list[Path]]:
        """The elements of a batch that have begun and have no record of it yet, with their scratch folders."""
        if batch not in self._scratch:
            self._scratch[batch] = _by_element(self.sweep.paths.running(batch))
        return self._scratch[batch]


def _by_element(running: Path) -> dict[int, list[Path]]:
    found: dict[int, list[Path]] = {}
    try:
        for path in running.iterdir():
            number = path.name.partition("-")[0]
            if number.isdecimal():
                found.setdefault(int(number), []).append(path)
    except OSError:
        return {}
    return found


def _runs(process: str, script: Path) -> bool:
    """Whether a process of this machine runs a job's script: after a crash its number may be anybody's."""
    try:
        words = Path("/proc", process, "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(word.endswith(os.fsencode(f"/{script.parent.name}/{script.name}")) for word in words)


@dataclass(frozen=True)
class _Run:
    """One planned repetition."""

    view: _View
    job: str
    element: int
    planned: PlannedRun

    @cached_property
    def records(self) -> list[Record]:
        """The latest last."""
        return in_order(self.view.records.get((self.job, self.element), ()))

    @property
    def turn(self) -> _Turn | None:
        return self.view.turns.get((self.job, self.element))

    def state(self) -> RunProgress:
        """Where it stands."""
        best, turn = best_attempt(self.records), self.turn
        entry = self.view.queued.entries.get(turn.element) if turn and self.view.queued else None
        active = entry is not None and not entry.ended
        by_turn = [record for record in self.records if turn and array_of(record) == turn.batch.slurm_id]
        submitted = turn is not None and turn.batch.slurm_id is not None
        final = best is not None and (best["status"] == status.COMPLETED or not submitted or by_turn)
        if best is not None and final and not (active and self._runs_again(best, by_turn)):
            return self._ended(best)
        if turn is None or not submitted:
            return self._unsubmitted(turn)
        if self.view.queued is None:
            return self._at(UNKNOWN, turn)
        if entry is not None and active:
            return self._queued(turn, entry)
        return self._gone(turn)

    def _runs_again(self, best: Record, by_turn: list[Record]) -> bool:
        """Whether the job that has left this record runs it once more, or Slurm starts that job anew."""
        retry = self.view.sweep.retry
        if is_disturbed(best):
            return len(by_turn) <= int(self.planned.measure["retries"])
        return best["status"] in retry.on and sum(record["status"] in retry.on for record in by_turn) <= retry.max

    def _unsubmitted(self, turn: _Turn | None) -> RunProgress:
        if not _on_slurm(self.view.sweep) and self._runs_here():
            return self._at(states.RUNNING, turn)
        return self._at(PLANNED, turn)

    def _runs_here(self) -> bool:
        """Whether another hpcbench on this machine runs it just now."""
        script = self.view.sweep.paths.script(self.job)
        return any(_runs(path.name.split("-")[1], script) for path in self.view.begun(self.job).get(self.element, ()))

    def _queued(self, turn: _Turn, entry: QueueEntry) -> RunProgress:
        state = states.phase_of(entry.state)
        reason = states.in_words(entry.reason) if state == states.PENDING else ""
        if state == states.PENDING and states.never_starts(entry.reason):
            state = status.NEVER_STARTED
        elif state == states.RUNNING and len(turn.pack) > 1 and self.element not in self.view.begun(turn.batch.name):
            state, reason = states.PENDING, OTHERS_FIRST
        return replace(self._at(state, turn, reason, entry.nodes), in_queue=True)

    def _gone(self, turn: _Turn) -> RunProgress:
        """Its job has ended, and it has no record."""
        if self.view.ended is None:
            return self._at(_GONE, turn)
        if not turn.batch.ours:
            return self._at(UNKNOWN, turn, "only the user who submitted it may say how it ended")
        if turn.element in self.view.unknown:
            return self._at(UNKNOWN, turn)
        entry = self.view.ended.get(turn.element)
        if entry and not entry.ended and states.phase_of(entry.state) == states.RUNNING:
            return self._at(UNKNOWN, turn, f"it has left the queue, and the accounting still says {entry.state}")
        begun = self.view.begun(turn.batch.name)
        had_no_turn = self.element not in begun and self._others_ran(turn)
        if had_no_turn and not (entry and states.outcome_of(entry.state) == status.CANCELLED):
            ended = f" ({entry.state})" if entry else ""
            return self._at(PLANNED, turn, f"its job ended{ended} before its turn")
        if (
            (entry is None or not entry.ended)
            and turn.batch.slurm_id in self.view.known_arrays
            and not self.view.has_log(turn)
        ):
            entry = queue.CANCELLED_WHILE_PENDING
        left = reconcile.Left(turn.batch, turn.index, self.element, begun.get(self.element, ()), had_no_turn)
        made = reconcile.reconcile(self.view.sweep, left, self.planned, entry)
        self.view.made_up.append(made)
        self.records.append(made.record)
        return self._ended(made.record)

    def _others_ran(self, turn: _Turn) -> bool:
        """Whether the job came as far as any other of its pack: else it never got that far, and all of it failed."""
        if turn.element in self.view.recorded:
            return True
        begun = self.view.begun(turn.batch.name)
        return any(other in begun for other in turn.pack if other != self.element)

    def _ended(self, record: Record) -> RunProgress:
        causes = disturbed_by(record)
        message = str((record["error"] or {}).get("message", f"disturbed: {causes}" if causes else ""))
        nodes = ",".join(node["hostname"] for node in record["nodes"])
        numbered = [place for place, each in enumerate(self.records, 1) if each is record]
        shown = {**record, "attempts": len(self.records)}
        if record["attempt"] is not None:
            shown["attempt"] = numbered[0]
        where = record["status"], array_of(record), index_of(record), message, nodes
        return RunProgress(self.job, self.element, self.planned, *where, shown, tuple(self.records))

    def _at(self, state: str, turn: _Turn | None, reason: str = "", nodes: str = "") -> RunProgress:
        slurm_id, index = (turn.batch.slurm_id, turn.index) if turn else (None, None)
        return RunProgress(self.job, self.element, self.planned, state, slurm_id, index, reason, nodes)
