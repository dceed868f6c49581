"""A sweep whose jobs Slurm has, told by fake commands, for the tests of where each repetition stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcbench.node.results import record_writer as node_record
from hpcbench.status.progress import Progress, RunProgress
from hpcbench.status.survey import survey
from hpcbench.store import packs
from hpcbench.store.journal import Batch, Journal
from hpcbench.store.records import RECONCILED
from hpcbench.store.sweep import Sweep

DESCRIPTION = {
    "name": "sweep-1",
    "hpcbench_version": "0.1.0",
    "git": None,
    "site": {"name": "cluster", "scheduler": "slurm"},
    "experiment": {"name": "trial", "retry": {"max": 2, "on": ["node_failure", "preempted"]}},
    "jobs": {"job-1": {"slurm": {}, "width": 1}},
}
BATCH = "job-1.aa"
ELEMENTS = 6
PACKS = [(0, 1, 2), (3,), (4, 5)]


def queued(*told: str, name: str = f"sweep-1.{BATCH}", array: str = "7") -> str:
    """What squeue prints of elements that are told as INDEX|STATE|REASON|NODES."""
    return "\n".join(f"{name}|{array}|{each}" for each in told)


ALL = ("0", "1", "2")


@dataclass
class Cluster:
    """A sweep of six repetitions, submitted as array 7 of three packs, and Slurm's commands, which are fakes."""

    sweep: Sweep
    fake: Callable[..., Path]
    make_record: Callable[..., dict[str, Any]]

    def submit(self, name: str = BATCH, slurm_id: str | None = "7", given: Any = PACKS, **changes: Any) -> None:
        paths = self.sweep.paths
        packs.write(paths.packs(name), given)
        journal = Journal.read(paths)
        journal.submitting(Batch(paths, name, **changes))
        if slurm_id is not None:
            journal.submitted(journal.batches[-1], slurm_id)

    def survey(self, squeue: str = "", sacct: str = "") -> Progress:
        """What is known where squeue and sacct print this."""
        said = {"squeue": squeue, "sacct": sacct}
        self.folder = self.fake(**{each: f"cat <<'END'\n{text}\nEND\necho >> calls" for each, text in said.items()})
        return survey(self.sweep)

    def states(self, squeue: str = "", sacct: str = "") -> list[str]:
        return [run.state for run in self.survey(squeue, sacct).runs]

    def record(self, element: int, status: str = "completed", index: int = 0, array: str = "7", **changes: Any) -> None:
        slurm = {"SLURM_ARRAY_JOB_ID": array, "SLURM_ARRAY_TASK_ID": str(index)}
        made = self.make_record(element, status=status, element=element, slurm=slurm, batch=BATCH, **changes)
        node_record.append(made, str(self.sweep.paths.records / BATCH / f"{array}_{index}.jsonl"))

    def begin(self, element: int, batch: str = BATCH) -> Path:
        """The scratch folder of a repetition that has begun."""
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
    def made_up(self) -> list[int]:
        path = self.sweep.paths.records / RECONCILED
        lines = path.read_text().splitlines() if path.exists() else []
        return sorted(json.loads(line)["element"] for line in lines)


def judged(verdict: str) -> dict[str, Any]:
    found = [{"causes": ["cpu"], "what": "", "windows": 1, "size": 1.0}] if verdict == "disturbed" else []
    return {"interference": {"verdict": verdict, "reason": None, "found": found, "windows": []}}


def elements(runs: list[RunProgress]) -> list[int]:
    return [run.element for run in runs]
