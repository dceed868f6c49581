"""Submitting with a progress bar: shared by sweep and resume."""

from __future__ import annotations

from rich.progress import Progress

from hpcbench.commands.common import err
from hpcbench.submit.journal import Journal
from hpcbench.submit.slurm import Job, submit
from hpcbench.submit.sweep import Sweep


def submit_with_progress(sweep: Sweep, jobs: list[Job], journal: Journal) -> None:
    """Submit these elements of these jobs."""
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("submitting", total=len(jobs))
        submit(sweep, jobs, journal, lambda job: bar.advance(task))
    err.print(f"submitted; see: hpcbench status {sweep.paths.name}")
