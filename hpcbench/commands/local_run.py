"""Running repetitions on this machine, with a progress bar: shared by sweep and resume."""

from __future__ import annotations

from collections import Counter

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from hpcbench.collect.progress import RunProgress, write_reconciled
from hpcbench.collect.records import read_element
from hpcbench.commands.common import err
from hpcbench.node import outcomes
from hpcbench.node.record import Outcome, tail
from hpcbench.submit.local import local_log, run_one
from hpcbench.submit.sweep import Sweep


def run_here(sweep: Sweep, runs: list[RunProgress]) -> int:
    """Run these repetitions in their planned order; return 0 where every one completed, else 1."""
    ordered = sorted(runs, key=lambda run: run.planned.order)
    counts: Counter[str] = Counter()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    # Once a second: drawing more often would take time from what is being measured.
    with Progress(*columns, console=err, refresh_per_second=1, disable=not err.is_terminal) as bar:
        task = bar.add_task(sweep.paths.name, total=len(ordered), failed="")
        for run in ordered:
            status = _run(sweep, run)
            counts[status] += 1
            failed = sum(counts.values()) - counts[outcomes.COMPLETED]
            bar.update(task, advance=1, failed=f"[red]{failed} failed[/red]" if failed else "")
            if not err.is_terminal:
                label = f"{sum(counts.values())}/{len(ordered)} {run.planned.case_id}"
                err.print(f"{label} repetition {run.planned.repetition}: {status}")
    return int(counts[outcomes.COMPLETED] != len(ordered))


def _run(sweep: Sweep, run: RunProgress) -> str:
    """Run one repetition and return its status; one that left no record gets one here."""
    before = len(read_element(sweep.paths, run.job, run.element))
    run_one(sweep.paths, run.job, run.element, sweep.limit_s(run.job))
    records = read_element(sweep.paths, run.job, run.element)
    if len(records) > before:
        return str(records[-1]["status"])
    lines = tail(str(local_log(sweep.paths, run.job, run.element)))
    message = f"the job script ended without leaving a record: {lines[-1] if lines else 'it printed nothing'}"
    error = {"type": "script", "message": message, "last_lines": lines}
    outcome = Outcome(outcomes.FAILED, error)
    return str(write_reconciled(sweep, run.job, run.element, run.planned, outcome, {})["status"])
