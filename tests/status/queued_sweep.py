"""A sweep whose jobs Slurm has: as a snapshot in memory, and on disk with fake commands of Slurm."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hpcbench.core.run_spec import Pack, PlannedRun
from hpcbench.node.results import record_writer as node_record
from hpcbench.slurm.job_entry import Element, JobEntry
from hpcbench.status.evidence import Evidence, JobState
from hpcbench.status.evidence import conclude as conclude_state
from hpcbench.status.progress import Progress, RunProgress
from hpcbench.status.query import query
from hpcbench.status.reconcile import conclude, reconcile
from hpcbench.status.snapshot import ArrayIndex, RunKey, Snapshot
from hpcbench.status.survey import survey
from hpcbench.store import packs
from hpcbench.store.journal import Batch, Journal
from hpcbench.store.records import RECONCILED, Record
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import SweepPaths

DESCRIPTION = {
    "name": "sweep-1",
    "hpcbench_version": "0.1.0",
    "git": None,
    "site": {"name": "cluster", "scheduler": "slurm", "limits": {"record_delay_s": 0}},
    "experiment": {"name": "trial", "retry": {"max": 2, "on": ["node_failure", "preempted"]}},
    "jobs": {"job-1": {"slurm": {}, "width": 1}},
}
BATCH = "job-1.aa"
OLD = "2026-01-01T00:00:00"
ELEMENTS = 6
PACKS = [(0, 1, 2), (3,), (4, 5)]
INDEX_OF = {element: index for index, pack in enumerate(PACKS) for element in pack}
ALL = ("0", "1", "2")
NOWHERE = SweepPaths("sweep-1", Path("/nonexistent/jobs/sweep-1"), Path("/nonexistent/results/sweep-1"))
Entries = dict[Element, JobEntry]
NOW = 1_000_000.0  # long after the end of each job, by the entries below


def _says(text: str) -> str:
    return f"cat <<'END'\n{text}\nEND\n"


def queued(*told: str, name: str = f"sweep-1.{BATCH}", array: str = "7", uid: int | None = None) -> str:
    """Return the output of squeue for elements given as INDEX|STATE|REASON|NODES, which ended long ago."""
    lines = []
    for each in told:
        index, state, reason, nodes = each.split("|")
        start = OLD if nodes else "N/A"
        owner = os.getuid() if uid is None else uid
        lines.append(f"{array}|{index}|{state}|{owner}|{start}|{OLD}|{nodes}|{reason}|{name}|/script.sh")
    return "\n".join(lines)


def accounted(*told: str, array: str = "7", uid: int | None = None) -> str:
    """Return the output of sacct for elements given as INDEX|STATE|EXIT_CODE|NODES, which ended long ago."""
    lines = []
    for each in told:
        index, state, exit_code, nodes = each.split("|")
        start = OLD if nodes else "None"
        owner = os.getuid() if uid is None else uid
        lines.append(f"{array}_{index}|{state}|{exit_code}|60|5|{owner}|{start}|{OLD}|None|{nodes or 'None assigned'}")
    return "\n".join(lines)


def submit(sweep: Sweep, *given: Pack, name: str = "job-001.beef", cluster: str | None = None) -> None:
    """Put a batch into the journal of a sweep on disk, which Slurm has accepted as array 42."""
    batch = Batch(sweep.paths, name, cluster=cluster)
    packs.write(sweep.paths.packs(name), given)
    journal = Journal.read(sweep.paths)
    journal.submitting(batch)
    journal.submitted(batch, "42")


def entries(*told: str, array: str = "7") -> Entries:
    """The same as Slurm's queue holds it: INDEX|STATE, then |REASON and |NODES if there are any."""
    found = {}
    for each in told:
        index, state, *rest = each.split("|")
        found[array, int(index)] = JobEntry(state, *rest, ended_at=0.0)
    return found


def ended(state: str, index: int, array: str = "7", exit_code: str = "1:0", nodes: str = "n1", **told: Any) -> Entries:
    """An element that has left the queue, as the accounting tells it."""
    entry = JobEntry(state, "None", nodes, exit_code, started=bool(nodes), ended_at=0.0)
    return {(array, index): replace(entry, **told)}


def elements(runs: list[RunProgress]) -> list[int]:
    return [run.element for run in runs]


def concluded(progress: Progress) -> list[int]:
    """The elements whose job has left no record."""
    return [run.element for run in progress.runs if run.is_concluded]


def judged(verdict: str) -> dict[str, Any]:
    found = [{"causes": ["cpu"], "what": "", "windows": 1, "size": 1.0}] if verdict == "interference" else []
    return {"interference": {"verdict": verdict, "reason": None, "found": found, "windows": []}}


@dataclass
class QueuedSweep:
    """Six runs in memory, submitted as array 7 of three packs. Nothing is on disk."""

    planned: Callable[[int], PlannedRun]
    make_record: Callable[..., Record]
    sweep: Sweep = field(default_factory=lambda: Sweep(NOWHERE, DESCRIPTION))
    places: dict[RunKey, ArrayIndex] = field(default_factory=dict)
    records: dict[RunKey, list[Record]] = field(default_factory=dict)
    scratch: dict[int, list[Path]] = field(default_factory=dict)
    logged: set[Element] = field(default_factory=set)

    def submit(self, name: str = BATCH, slurm_id: str | None = "7", given: Any = PACKS, **changes: Any) -> None:
        batch = Batch(self.sweep.paths, name, slurm_id, **changes)
        for index, pack in enumerate(given):
            self.places |= {("job-1", element): ArrayIndex(batch, index, pack) for element in pack}

    def record(self, element: int, status: str = "completed", array: str = "7", **changes: Any) -> None:
        index = INDEX_OF[element] if array == "7" else 0
        slurm = {"SLURM_ARRAY_JOB_ID": array, "SLURM_ARRAY_TASK_ID": str(index)}
        made = self.make_record(element, status=status, element=element, slurm=slurm, batch=BATCH, **changes)
        self.records.setdefault(("job-1", element), []).append(made)

    def begin(self, element: int) -> None:
        self.scratch[element] = [self.sweep.paths.running(BATCH) / f"{element}-8-0-1"]

    def snapshot(
        self, told: Entries | None, accounted: Mapping[Element, JobEntry] | None = None, **changes: Any
    ) -> Snapshot:
        """Return what is known if the queue and the accounting hold these; None if Slurm was not asked.

        Slurm does not know any other element. All of that is long ago, unless `changes` of the evidence say otherwise.
        """
        known = {**(told or {}), **(accounted or {})}
        jobs: dict[Element, JobState] = {}
        for place in self.places.values():
            by_slurm, by_sacct = (told or {}).get(place.element), (accounted or {}).get(place.element)
            unknown_since = 0.0 if by_slurm is None and not (by_sacct and by_sacct.ended) else None
            found = Evidence(place.batch.uid, by_slurm, by_sacct, unknown_since, words="not found")
            jobs[place.element] = conclude_state(replace(found, **changes), os.getuid(), NOW, 120)
        return Snapshot(
            self.sweep,
            {("job-1", element): self.planned(element) for element in range(ELEMENTS)},
            self.records,
            self.places,
            None if told is None else jobs,
            known_arrays=frozenset(array for array, _ in known),
            scratch={BATCH: self.scratch},
            logged=frozenset(self.logged),
        )

    def survey(self, told: Entries | None, accounted: Mapping[Element, JobEntry] | None = None) -> Progress:
        """Return the states with what the jobs have left, which is nothing on disk."""
        snapshot = self.snapshot(told, accounted)
        made = {key: each.record for key, each in conclude(snapshot).items()}
        return survey(replace(snapshot, concluded=made))

    def states(self, told: Entries | None, accounted: Mapping[Element, JobEntry] | None = None) -> list[str]:
        return [run.state for run in self.survey(told, accounted).runs]


@dataclass
class Cluster:
    """The same on disk, and Slurm's commands, which are fakes."""

    sweep: Sweep
    fake: Callable[..., Path]
    make_record: Callable[..., Record]

    def submit(self, name: str = BATCH, slurm_id: str | None = "7", given: Any = PACKS, **changes: Any) -> None:
        paths = self.sweep.paths
        packs.write(paths.packs(name), given)
        journal = Journal.read(paths)
        journal.submitting(Batch(paths, name, **changes))
        if slurm_id is not None:
            journal.submitted(journal.batches[-1], slurm_id)

    def say(self, squeue: str = "", sacct: str = "") -> None:
        """Let squeue and sacct print this."""
        said = {"squeue": squeue, "sacct": sacct}
        commands = {each: f"{_says(text)}echo >> calls" for each, text in said.items()}
        self.folder = self.fake(**commands)

    def query(self, squeue: str = "", sacct: str = "") -> Progress:
        self.say(squeue, sacct)
        return query(self.sweep)

    def reconcile(self, squeue: str = "", sacct: str = "") -> Progress:
        self.say(squeue, sacct)
        return reconcile(self.sweep)

    def record(self, element: int, status: str = "completed", index: int = 0, array: str = "7", **changes: Any) -> None:
        slurm = {"SLURM_ARRAY_JOB_ID": array, "SLURM_ARRAY_TASK_ID": str(index)}
        made = self.make_record(element, status=status, element=element, slurm=slurm, batch=BATCH, **changes)
        node_record.append(made, str(self.sweep.paths.records / BATCH / f"{array}_{index}.jsonl"))

    def begin(self, element: int, batch: str = BATCH) -> Path:
        """The scratch folder of a run that has begun."""
        scratch = self.sweep.paths.running(batch) / f"{element}-8-0-1"
        scratch.mkdir(parents=True)
        return scratch

    def log(self, index: int, text: str = "loading gcc\n", array: str = "7") -> None:
        log = self.sweep.paths.log(BATCH, index, array)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text)

    @property
    def calls(self) -> int:
        """How often Slurm was asked."""
        return len((self.folder / "calls").read_text().splitlines())

    @property
    def saved(self) -> list[int]:
        """The elements of the outcomes that were saved."""
        path = self.sweep.paths.records / RECONCILED
        lines = path.read_text().splitlines() if path.exists() else []
        return sorted(json.loads(line)["element"] for line in lines)
