"""Where each repetition of a sweep stands: the plan, the journal, Slurm's queue and the records, put together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from hpcbench.collect.reconcile import reconcile
from hpcbench.collect.records import Record, best_attempt, disturbed_by, is_disturbed, read_element, read_records
from hpcbench.errors import UserError
from hpcbench.node import outcomes, verdict
from hpcbench.node import record as node_record
from hpcbench.node.planned import PlannedRun
from hpcbench.submit import queue, states
from hpcbench.submit.journal import Journal, Submission
from hpcbench.submit.queue import QueueEntry
from hpcbench.submit.sweep import Sweep

PLANNED = "planned"  # not submitted yet
UNKNOWN = "unknown"  # submitted, and Slurm was not asked or did not answer
ACTIVE = (states.PENDING, states.RUNNING)


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
    attempts_of_job: int = 1  # by the job that has left this record

    @property
    def is_disturbed(self) -> bool:
        """Whether its best record is that of a run that others disturbed."""
        return self.record is not None and is_disturbed(self.record)

    @property
    def ended(self) -> bool:
        return self.state in outcomes.STATUSES


@dataclass(frozen=True)
class Progress:
    """All repetitions of a sweep."""

    sweep: Sweep
    runs: tuple[RunProgress, ...]
    warnings: tuple[str, ...]

    def case_counts(self) -> dict[str, int]:
        """Cases by state: completed when each repetition has, else the state of the first that has not."""
        cases: dict[str, str] = {}
        for run in sorted(self.runs, key=lambda run: run.planned.repetition):
            if cases.get(run.planned.case_id, outcomes.COMPLETED) == outcomes.COMPLETED:
                cases[run.planned.case_id] = run.state
        return _ordered(Counter(cases.values()))

    def counts(self) -> dict[str, int]:
        """Repetitions by state, in the order in which a repetition goes through them."""
        return _ordered(Counter(run.state for run in self.runs))

    def to_do(self, *, disturbed: bool = False) -> list[RunProgress]:
        """What `resume` runs: all that is missing or did not complete, and is not under way; and, if asked, what
        completed and was `disturbed` each time."""
        done = (*ACTIVE, UNKNOWN, *outcomes.FINAL)
        return [run for run in self.runs if run.state not in done or (disturbed and run.is_disturbed)]


def _ordered(counted: Counter[str]) -> dict[str, int]:
    order = (PLANNED, *ACTIVE, UNKNOWN, *outcomes.STATUSES)
    return {state: counted[state] for state in order if counted[state]}


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
    submissions = _latest_submissions(journal)
    on_slurm = ask_slurm and sweep.scheduler == "slurm"
    # Slurm first, records after: a job that ends in between has its record then.
    queued = queue.queued_by_name(sweep.paths.name, sweep.job_names) if on_slurm else {}
    known = queue.ask({(s.slurm_id, e) for (_, e), s in submissions.items() if s.slurm_id}) if on_slurm else None
    found = read_records(sweep.paths)
    by_run: dict[tuple[str, int], list[Record]] = {}
    for record in found.records:
        by_run.setdefault((record["job"], record["element"]), []).append(record)
    runs = []
    for job in sweep.job_names:
        for element, planned in enumerate(sweep.runs(job)):
            run = _Run(sweep, job, element, planned, by_run.get((job, element), []))
            runs.append(run.state(submissions.get((job, element)), known, queued.get((job, element))))
    warnings = tuple(f"a damaged line is left out: {place}" for place in found.damaged)
    return Progress(sweep, tuple(runs), warnings)


@dataclass(frozen=True)
class _Run:
    """One planned repetition and the records that it has."""

    sweep: Sweep
    job: str
    element: int
    planned: PlannedRun
    records: list[Record]

    def state(
        self,
        submission: Submission | None,
        known: dict[queue.Element, QueueEntry] | None,
        bare: tuple[str, QueueEntry] | None,
    ) -> RunProgress:
        """Where it stands; `bare` is a job of this script that somebody submitted without hpcbench."""
        best = best_attempt(self.records)
        slurm_id = submission.slurm_id if submission else None
        entry = known.get((slurm_id, self.element)) if known and slurm_id else None
        queued = entry is not None and not entry.ended
        again = (queued or bare is not None) and best is not None and is_disturbed(best)  # it is measured just now
        final = best is not None and not again
        if best is not None and final and best["status"] == outcomes.COMPLETED:
            return self._ended(best)
        if bare is not None:
            return self._queued(*bare)
        if best is not None and final and self._recorded(slurm_id):
            return self._ended(best)
        if slurm_id is None:
            return self._at(PLANNED)
        if known is None:
            return self._at(UNKNOWN, slurm_id)
        if entry is not None and queued:
            return self._queued(slurm_id, entry)
        made_up = [record for record in self.records if record["attempt"] is None]
        late = [*made_up, *read_element(self.sweep.paths, self.job, self.element)]
        if len(late) > len(self.records):  # it came while Slurm and the other records were asked
            return replace(self, records=late).state(submission, known, bare)
        if submission is not None and not submission.ours:
            return self._at(UNKNOWN, slurm_id, "only the user who submitted it may say how it ended")
        return self._ended(reconcile(self.sweep, self.job, self.element, self.planned, slurm_id, entry))

    def _recorded(self, slurm_id: str | None) -> bool:
        return slurm_id is None or any(record["slurm"].get("array_job_id") == slurm_id for record in self.records)

    def _queued(self, slurm_id: str, entry: QueueEntry) -> RunProgress:
        phase = states.phase_of(entry.state)
        reason = states.in_words(entry.reason) if phase == states.PENDING else ""
        return self._at(phase, slurm_id, reason, entry.nodes)

    def _ended(self, record: Record) -> RunProgress:
        causes = disturbed_by(record)
        message = str((record["error"] or {}).get("message", f"disturbed: {causes}" if causes else ""))
        nodes = ",".join(node["hostname"] for node in record["nodes"])
        slurm_id = record["slurm"].get("array_job_id")
        made = self._at(record["status"], slurm_id, message, nodes)
        of_job = sum(each["slurm"].get("array_job_id") == slurm_id for each in self.records)
        return replace(made, record={**record, "attempts": len(self.records)}, attempts_of_job=of_job)

    def _at(self, state: str, slurm_id: str | None = None, reason: str = "", nodes: str = "") -> RunProgress:
        return RunProgress(self.job, self.element, self.planned, state, slurm_id, reason, nodes)


def _latest_submissions(journal: Journal) -> dict[tuple[str, int], Submission]:
    return {
        (submission.job, element): submission
        for submission in journal.submissions
        if not submission.rejected
        for element in submission.elements
    }


def unfinished_record(sweep: Sweep, run: RunProgress) -> Record:
    """A row for a repetition that has not ended: its parameters and its state, and nothing measured. Not written."""
    outcome = verdict.Outcome(run.state, None)
    record = node_record.assemble(run.planned, sweep.description, run.job, run.element, [], outcome, 0.0, {})
    return {**record, "attempt": None, "started_at": None, "ended_at": None}
