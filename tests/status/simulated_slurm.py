"""A Slurm with simulated jobs and clock, whose output can be lost, old, truncated, incomplete or contradictory.

It replaces the processes of squeue, scontrol and sacct, and the network file system with the records.
"""

from __future__ import annotations

import datetime
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

CACHED_S = 60.0  # maximum age of an answer of Slurm's commands, and until a file is visible
START = 1_790_000_000.0
UNABLE = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"


@dataclass
class Job:
    """One element of an array. It is requeued at `requeued_at`, if ever, and then starts again."""

    array: str
    index: int
    run: int
    submitted_at: float
    started_at: float
    ended_at: float
    state: str
    requeued_at: float | None = None
    record_visible_at: float | None = None  # None: its node died before it wrote a record
    is_recorded: bool = False

    def state_at(self, at: float) -> str:
        if at < self.started_at:
            return "PENDING"
        if self.requeued_at is not None and self.requeued_at <= at < self.requeued_at + 30:
            return "PENDING"
        return self.state if at >= self.ended_at else "RUNNING"

    def is_alive(self, at: float) -> bool:
        return at < self.ended_at

    def has_started(self, at: float) -> bool:
        return at >= self.started_at


@dataclass
class SimulatedSlurm:
    """The jobs of one sweep on the cluster `here`, seen from a login node."""

    chance: random.Random
    fault_rate: float
    min_job_age_s: int
    has_accounting: bool
    silent: frozenset[str] = frozenset()  # commands that print nothing, with status 0, about any job
    jobs: list[Job] = field(default_factory=list)
    now: float = START

    def run(self, command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        """Answer a command of Slurm, for subprocess.run."""
        words = [word for word in command if not word.startswith("--clusters")]
        if words[:3] == ["scontrol", "show", "config"]:
            return self._said(command, self._config())
        if words[0] in self.silent:
            return self._said(command, "")
        fault = self.chance.random() < self.fault_rate and self.chance.choice(["lost", "late", "old", "cut", "noise"])
        if fault == "lost":
            return subprocess.CompletedProcess(command, 1, "", UNABLE)
        if fault == "late":
            raise subprocess.TimeoutExpired(command, 60)
        at = self.now - self.chance.uniform(0, CACHED_S) if fault == "old" else self.now
        if words[0] == "scontrol":
            return self._shown(command, words[-1], at)
        text = self._sacct(words, at) if words[0] == "sacct" else self._squeue(words, at)
        if fault == "cut":
            text = text[: self.chance.randrange(len(text) + 1)]
        noise = "squeue: error: this answer may be incomplete\n" if fault == "noise" else ""
        lines = text.splitlines(keepends=True)
        if noise and lines:
            lines.pop(self.chance.randrange(len(lines)))
        return subprocess.CompletedProcess(command, 0, "".join(lines), noise)

    def _said(self, command: list[str], text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 0, text, "")

    def _config(self) -> str:
        storage = "accounting_storage/slurmdbd" if self.has_accounting else "(null)"
        return f"ClusterName = here\nMinJobAge = {self.min_job_age_s} sec\nAccountingStorageType = {storage}\n"

    def _known(self, at: float) -> list[Job]:
        """The jobs that slurmctld has: those that ended are removed after MinJobAge."""
        return [job for job in self.jobs if job.submitted_at <= at < job.ended_at + self.min_job_age_s]

    def _squeue(self, words: list[str], at: float) -> str:
        ids = next((word.partition("=")[2].split(",") for word in words if word.startswith("--jobs=")), None)
        jobs = [job for job in self._known(at) if ids is None or job.array in ids]
        hidden = "--all" not in words
        return "" if hidden else "".join(self._line(job, at) for job in jobs)

    def _line(self, job: Job, at: float) -> str:
        started = clock(job.started_at) if job.has_started(at) else "N/A"
        node = "n1" if job.state_at(at) != "PENDING" and job.has_started(at) else ""
        end = clock(job.ended_at) if job.has_started(at) else "N/A"
        state = job.state_at(at)
        return f"{job.array}|{job.index}|{state}|{os.getuid()}|{started}|{end}|{node}|None|renamed|/elsewhere.sh x\n"

    def _shown(self, command: list[str], job_id: str, at: float) -> subprocess.CompletedProcess[str]:
        array, _, index = job_id.partition("_")
        known = [job for job in self._known(self.now) if job.array == array]  # no cache holds what never was
        found = [job for job in known if not index or job.index == int(index)]
        if not known:
            return subprocess.CompletedProcess(command, 1, "", "slurm_load_jobs error: Invalid job id specified\n")
        if not found:
            return subprocess.CompletedProcess(command, 1, f"Job {job_id} not found\n", "")
        return self._said(command, "".join(self._record(job, max(at, job.submitted_at)) for job in found))

    def _record(self, job: Job, at: float) -> str:
        state, started = job.state_at(at), job.has_started(at)
        node = "n1" if started and state != "PENDING" else "(null)"
        times = f"StartTime={clock(job.started_at)} EndTime={clock(job.ended_at)}"
        return f"JobId=9{job.index} UserId=x({os.getuid()}) JobState={state} Reason=None {times} NodeList={node}\n"

    def _sacct(self, words: list[str], at: float) -> str:
        """The accounting keeps every job, gets each change up to a minute late, and has only the last run of a job."""
        ids = next((word.partition("=")[2].split(",") for word in words if word.startswith("--jobs=")), [])
        heard = at - self.chance.choice([0.0, 0.0, CACHED_S / 2])
        jobs = (
            [job for job in self.jobs if job.array in ids and job.submitted_at <= heard] if self.has_accounting else []
        )
        lines = []
        for job in jobs:
            state, end = job.state_at(heard), clock(job.ended_at) if not job.is_alive(heard) else "Unknown"
            if job.requeued_at is not None and job.requeued_at <= heard < job.requeued_at + 20:
                state, end = "NODE_FAIL", clock(job.requeued_at)  # of the run before the requeue
            start = clock(job.started_at) if job.has_started(heard) else "None"
            lines.append(
                f"{job.array}_{job.index}|{state}|0:0|60|600|{os.getuid()}|{start}|{end}|None|"
                f"{'n1' if job.has_started(heard) else 'None assigned'}\n"
            )
        return "".join(lines)


@dataclass
class SimulatedNodes:
    """The files of the nodes: a folder during a run, and a record at its end, which becomes visible late."""

    folder_of: Callable[[Job], Path]
    write_record: Callable[[Job], None]

    def advance(self, slurm: SimulatedSlurm, seconds: float) -> None:
        """Let time pass; make visible what was written."""
        slurm.now += seconds
        for job in slurm.jobs:
            folder = self.folder_of(job)
            if job.has_started(slurm.now) and job.is_alive(slurm.now) and not folder.exists():
                folder.mkdir(parents=True)
                (folder / "rank-0.json.part").touch()
            last = min(slurm.now, job.ended_at)
            if folder.exists():
                for path in (folder, *folder.iterdir()):
                    os.utime(path, (last, last))
            visible_at = job.record_visible_at
            if visible_at is not None and slurm.now >= visible_at and not job.is_recorded:
                self.write_record(job)
                job.is_recorded = True
                shutil.rmtree(folder, ignore_errors=True)


def clock(at: float) -> str:
    """A time as Slurm prints it."""
    return datetime.datetime.fromtimestamp(at).isoformat(timespec="seconds")
