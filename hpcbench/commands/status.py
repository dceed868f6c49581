"""hpcbench status: how many repetitions are where, and the jobs that are under way."""

from __future__ import annotations

import datetime
import json
import time
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from hpcbench.collect.progress import Progress, RunProgress, survey_or_records
from hpcbench.commands.common import err, out, sweep_argument, workspace_of
from hpcbench.submit.journal import compact_elements
from hpcbench.submit.sweep import load

WATCH_S = 10.0

EPILOG = """\b
Examples:
  hpcbench status                  the latest sweep
  hpcbench status lstm --json      for a program
  hpcbench status --watch          again and again, until every job has ended
"""


@click.command(epilog=EPILOG, short_help="Count the repetitions of a sweep by state, and list its jobs.")
@sweep_argument(default="latest")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--watch", is_flag=True, help=f"Print again every {WATCH_S:.0f} s until every job has ended.")
@click.pass_context
def status(context: click.Context, sweep: str, as_json: bool, watch: bool) -> int:
    """One line per state, then one per group of repetitions that share job, state and reason."""
    found = load(workspace_of(context).find(sweep))
    while True:
        progress = survey_or_records(found)
        for warning in progress.warnings:
            err.print(f"warning: {warning}", markup=False)
        if watch:
            err.print(f"{datetime.datetime.now():%H:%M:%S}")
        _print(progress, as_json)
        if not watch or all(run.ended for run in progress.runs):
            return 0
        time.sleep(WATCH_S)


def _print(progress: Progress, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(_as_json(progress), indent=1))
        return
    paths = progress.sweep.paths
    out.print(f"[bold]{paths.name}[/bold] on {progress.sweep.description['site']['name']}")
    for unit, counts in (("cases", progress.case_counts()), ("repetitions", progress.counts())):
        out.print(f"  {unit + ':':13} " + ", ".join(f"{count} {state}" for state, count in counts.items()))
    table = Table(box=None, pad_edge=False)
    for name in ("job", "elements", "slurm id", "state", "node", "reason"):
        table.add_column(name)
    for (job, slurm_id, state, nodes, reason), runs in _grouped(progress.runs).items():
        elements = compact_elements(tuple(run.element for run in runs))
        table.add_row(job, elements, slurm_id or "-", state, nodes or "-", escape(reason))
    out.print(table)


def _grouped(runs: tuple[RunProgress, ...]) -> dict[tuple[str, str | None, str, str, str], list[RunProgress]]:
    groups: dict[tuple[str, str | None, str, str, str], list[RunProgress]] = {}
    for run in runs:
        groups.setdefault((run.job, run.slurm_id, run.state, run.nodes, run.reason), []).append(run)
    return groups


def _as_json(progress: Progress) -> dict[str, Any]:
    return {
        "sweep": progress.sweep.paths.name,
        "site": progress.sweep.description["site"]["name"],
        "cases": progress.case_counts(),
        "repetitions": progress.counts(),
        "runs": [
            {
                "job": run.job,
                "element": run.element,
                "case": run.planned.case_id,
                "repetition": run.planned.repetition,
                "state": run.state,
                "slurm_id": f"{run.slurm_id}_{run.element}" if run.slurm_id else None,
                "nodes": run.nodes or None,
                "reason": run.reason or None,
            }
            for run in progress.runs
        ],
    }
