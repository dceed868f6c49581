"""Random histories of a sweep on a simulated Slurm: no active run is repeated, deleted or counted as ended."""

from __future__ import annotations

import datetime
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hpcbench.errors import UserError
from hpcbench.slurm import client
from hpcbench.status import job_states
from hpcbench.status.progress import ACTIVE, UNKNOWN, Progress
from hpcbench.status.reconcile import reconcile
from hpcbench.store import journal as journal_module
from hpcbench.store import packs
from hpcbench.store.journal import Batch, Journal
from hpcbench.store.sweep import Sweep
from tests.status.queued_sweep import DESCRIPTION, Cluster
from tests.status.simulated_slurm import CACHED_S, Job, SimulatedNodes, SimulatedSlurm

RUNS = 4
DELAY_S = 120
FAILURES = ["FAILED", "NODE_FAIL", "TIMEOUT", "OUT_OF_MEMORY", "PREEMPTED"]


class History:
    """A sweep of four runs, each an element of an array, with jobs that end well, die, or are requeued."""

    def __init__(self, cluster: Cluster, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.chance = random.Random(seed)
        self.cluster = cluster
        site = {**DESCRIPTION["site"], "limits": {"record_delay_s": DELAY_S}}  # type: ignore[dict-item]
        self.sweep = Sweep(cluster.sweep.paths, {**DESCRIPTION, "site": site})
        self.slurm = SimulatedSlurm(
            self.chance,
            fault_rate=self.chance.choice([0.0, 0.2, 0.5, 0.8]),
            min_job_age_s=self.chance.choice([2, 30, 300]),
            has_accounting=self.chance.random() < 0.5,
            silent=frozenset(word for word in ("squeue", "scontrol", "sacct") if self.chance.random() < 0.15),
        )
        self.batches: dict[str, str] = {}
        self.nodes = SimulatedNodes(self.folder_of, self.write_record)
        fake = SimpleNamespace(run=self.slurm.run, TimeoutExpired=subprocess.TimeoutExpired)
        monkeypatch.setattr(client, "subprocess", fake)
        monkeypatch.setattr(job_states, "time", SimpleNamespace(time=lambda: self.slurm.now))
        monkeypatch.setattr(journal_module, "datetime", _clock(lambda: self.slurm.now))

    def submit(self, runs: list[int]) -> None:
        """Submit runs as resume does: an intent, and the ID of an array of one element for each."""
        name, array, now = f"job-1.{len(self.batches):x}", str(100 + len(self.batches)), self.slurm.now
        packs.write(self.sweep.paths.packs(name), [(run,) for run in runs])
        journal = Journal.read(self.sweep.paths)
        journal.submitting(Batch(self.sweep.paths, name, cluster="here"))
        journal.submitted(journal.batches[-1], array)
        self.batches[array] = name
        for index, run in enumerate(runs):
            start = now + self.chance.uniform(1, 200)
            end = start + self.chance.uniform(10, 400)
            fails = self.chance.random() < 0.4
            state = self.chance.choice(FAILURES) if fails else "COMPLETED"
            job = Job(array, index, run, now, start, end, state)
            if self.chance.random() < 0.2:
                job.requeued_at, job.ended_at = start + 5, end + 100
            if not fails or self.chance.random() < 0.5:
                job.record_visible_at = job.ended_at + self.chance.uniform(0, CACHED_S)
            self.slurm.jobs.append(job)

    def folder_of(self, job: Job) -> Path:
        return self.sweep.paths.running(self.batches[job.array]) / f"{job.run}-{job.array}-0-1"

    def write_record(self, job: Job) -> None:
        status = "completed" if job.state == "COMPLETED" else "failed"
        self.cluster.record(job.run, status, index=job.index, array=job.array)

    def live(self) -> int:
        """Let time pass, look at the sweep as `status --watch` and `resume` do, and check every conclusion.

        Return how many runs were concluded to have ended.
        """
        concluded = 0
        self.submit(list(range(RUNS)))
        for _ in range(self.chance.randrange(4, 10)):
            self.nodes.advance(self.slurm, self.chance.choice([5, 20, 70, 130, 300]))
            try:
                progress = reconcile(self.sweep)
            except UserError:
                continue
            self.check(progress)
            concluded += sum(run.ended for run in progress.runs)
            if self.chance.random() < 0.4 and not progress.complaint and len(self.batches) < 4:
                runs = [run.element for run in progress.to_do()]
                if runs:
                    self.submit(runs)
        return concluded

    def check(self, progress: Progress) -> None:
        now = self.slurm.now
        for run in progress.runs:
            jobs = [job for job in self.slurm.jobs if job.run == run.element]
            latest = jobs[-1]
            assert sum(job.is_alive(now) for job in jobs) <= 1, "it runs twice"
            seen = f"{run.state} ({run.reason}) while Slurm has {latest}"
            if latest.is_alive(now):
                assert run.state in (*ACTIVE, UNKNOWN), seen
                assert not run.ended, seen
                if latest.has_started(now):
                    assert (self.folder_of(latest) / "rank-0.json.part").exists(), "its files were deleted"
            elif latest.state == "COMPLETED":
                assert run.state in ("completed", *ACTIVE, UNKNOWN), f"it has completed: {seen}"


def _clock(now: Callable[[], float]) -> Any:
    """The module datetime with the simulated time."""

    class Simulated(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime.datetime:
            return datetime.datetime.fromtimestamp(now(), tz)

    return SimpleNamespace(datetime=Simulated, timezone=datetime.timezone)


@pytest.fixture
def history(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], History]:
    paths = cluster.sweep.paths
    lines = paths.runs("job-1").read_text().splitlines(keepends=True)[:RUNS]
    paths.runs("job-1").write_text("".join(lines))

    def make(seed: int) -> History:
        paths.journal.unlink(missing_ok=True)
        shutil.rmtree(paths.results, ignore_errors=True)
        return History(cluster, seed, monkeypatch)

    return make


def test_no_run_is_repeated_or_deleted_or_counted_as_ended_while_it_is_active_on_a_simulated_slurm(
    history: Callable[[int], History],
) -> None:
    concluded = sum(history(seed).live() for seed in range(100))
    assert concluded > 100, "a tool that concludes nothing is never wrong"


@pytest.mark.soak
def test_none_of_thousands_of_histories_on_a_simulated_slurm_ends_in_a_wrong_conclusion(
    history: Callable[[int], History],
) -> None:
    concluded = sum(history(seed).live() for seed in range(100, 2100))
    assert concluded > 2000, "a tool that concludes nothing is never wrong"


def test_without_faults_every_run_of_a_simulated_slurm_gets_its_outcome(history: Callable[[int], History]) -> None:
    """Otherwise nothing would ever be concluded, and no conclusion would be wrong."""
    for seed in range(30):
        found = history(seed)
        found.slurm.fault_rate, found.slurm.silent = 0.0, frozenset()
        found.submit(list(range(RUNS)))
        for _ in range(6):
            found.nodes.advance(found.slurm, 200)
            progress = reconcile(found.sweep)
            found.check(progress)
        states = {run.element: run.state for run in progress.runs}
        expected = {job.run: "completed" for job in found.slurm.jobs if job.state == "COMPLETED"}
        assert all(run.ended for run in progress.runs), (seed, states, found.slurm)
        assert {run for run, state in states.items() if state == "completed"} == expected.keys()
