"""hpcbench sweep: plan, render, submit."""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape

from hpcbench.commands.shared.completion import complete_experiment, complete_sweep
from hpcbench.commands.shared.context import (
    choose_site,
    file_in,
    open_sweep,
    resumable,
    set_option,
    site_option,
    workspace_of,
)
from hpcbench.commands.shared.planning import MOST_POINTS, check_slurm, cluster_of, placed, planned
from hpcbench.commands.shared.run_locally import run_here
from hpcbench.commands.shared.watch import wait_for
from hpcbench.config.site import Site
from hpcbench.config.yaml_document import Document
from hpcbench.plan.case import where_written
from hpcbench.plan.plan import Plan
from hpcbench.report.terminal.dry_run import show
from hpcbench.report.text.counts import jobs_in_words
from hpcbench.status.query import query
from hpcbench.store.journal import Journal, locked
from hpcbench.store.provenance.sweep_options import SweepOptions
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from hpcbench.submit.create_sweep import create
from hpcbench.submit.rerun import Rerun
from hpcbench.util.console import err, out
from hpcbench.util.text import plural

EPILOG = """\b
Examples:
  hpcbench sweep quickstart                      a shipped experiment, by name
  hpcbench sweep my.yaml --dry-run               what would run, and its maximum cost
  hpcbench sweep my.yaml --site gpu-cluster --set batch_size=64
  hpcbench sweep my.yaml --set 'matrix.nodes=[1,2,4]' --limit 3
  hpcbench sweep my.yaml --local                 on this machine, without Slurm
  hpcbench sweep --from lstm.tar.gz --dry-run    repeat a sweep, by name or from an archive

Exit status: 0 success; 1 a case did not complete, or lacks a metric (local, or with --wait);
2 usage error; 130 interrupted.
"""


@click.command("sweep", epilog=EPILOG)
@click.argument("experiment", metavar="[EXPERIMENT]", required=False, shell_complete=complete_experiment)
@click.option(
    "--from",
    "origin",
    metavar="SWEEP",
    shell_complete=complete_sweep,
    help="Repeat this sweep, given by name or as an archive.",
)
@site_option()
@set_option()
@click.option("--name", metavar="NAME", help="Name the sweep.  [default: EXPERIMENT-DATE-TIME]")
@click.option("--limit", type=click.IntRange(min=1), help="Run only the first N cases.")
@click.option("--local", is_flag=True, help="Run on this machine, in the foreground.")
@click.option("-n", "--dry-run", is_flag=True, help="Show cases, commands, jobs and one script; write nothing.")
@click.option("--render-only", is_flag=True, help="Write the scripts; submit nothing.")
@click.option("--wait", is_flag=True, help="Wait until all jobs have ended.")
@click.option("-y", "--yes", is_flag=True, help=f"Allow more than {MOST_POINTS:,} cases.")
@click.pass_context
def sweep_command(
    context: click.Context,
    experiment: str | None,
    origin: str | None,
    site: str | None,
    settings: tuple[str, ...],
    name: str | None,
    limit: int | None,
    local: bool,
    dry_run: bool,
    render_only: bool,
    wait: bool,
    yes: bool,
) -> int:
    """Measure all cases of EXPERIMENT: a YAML file, or the name of one in configs/experiments.

    Use sweep if you need a result for every case, e.g. for a figure or a comparison. To find only the fastest thread
    and runtime settings, use `hpcbench tune`: it needs fewer runs.

    On a cluster, the command returns when the jobs are queued. Without Slurm, it runs them one after another. --from
    uses the experiment, overrides, site and template of an earlier sweep.
    """
    workspace = workspace_of(context)
    again = _again(context, workspace, experiment, origin)
    if again:
        asked = again.asked_also(settings, limit, local or (again.asked.local and site is None))
    else:
        asked = SweepOptions(settings, limit, local)
    source = again.experiment if again else file_in(workspace, "experiments", experiment or "")

    def chosen() -> Site:
        return again.site(local) if again and not site else choose_site(workspace, site, local)

    plan, document = planned(source, asked, chosen, None if yes else MOST_POINTS)
    _check_schedules(plan, workspace, document)
    nothing_runs = dry_run or render_only
    paths, environments, warnings = placed(plan, workspace, name, only_shown=dry_run)
    if again:
        same = not settings and limit is None
        warnings += again.differences(plan, environments, workspace, same=same, nothing_runs=nothing_runs)
        if nothing_runs:
            warnings.append("packages are not compared, since that would run the Python of each environment")
    for warning in warnings:
        err.print(f"[yellow]warning:[/yellow] {escape(warning)}", soft_wrap=True)
    template = again.template if again else None
    if dry_run:
        show(plan, workspace, paths, environments, template)
        return 0
    if not render_only:
        check_slurm(plan)
    ask_packages = not (again and nothing_runs)
    cluster = cluster_of(plan.site)
    created = create(workspace, paths, plan, source, asked, template, ask_packages=ask_packages, cluster=cluster)
    return _run(created, plan, workspace, render_only, wait)


def _check_schedules(plan: Plan, workspace: Workspace, document: Document) -> None:
    """Raises UserError for a missing schedule with a relative path; an absolute path may exist only on the nodes."""
    named = dict.fromkeys(case.parameters.schedule for case in plan.cases)
    for file in filter(None, named):
        if not Path(file).is_absolute() and not (workspace.root / file).is_file():
            what = f"{file} not found in the workspace, {workspace.root}"
            raise document.error(
                what, where_written("schedule", document), "hpcbench tune writes one if it finds a gain"
            )


def _again(context: click.Context, workspace: Workspace, experiment: str | None, origin: str | None) -> Rerun | None:
    """Return the sweep of --from, or None. Raises UsageError unless either it or EXPERIMENT is given."""
    if (experiment is None) == (origin is None):
        raise click.UsageError("give either an EXPERIMENT or --from SWEEP", context)
    return Rerun.of(open_sweep(context, workspace, origin)) if origin is not None else None


def _run(created: Sweep, plan: Plan, workspace: Workspace, render_only: bool, wait: bool) -> int:
    from hpcbench.commands.shared.submit import submit_with_progress
    from hpcbench.submit.slurm_executor import Array

    paths = created.paths
    repetitions = sum(len(job.runs) for job in plan.jobs)
    counts = plural(len(plan.cases), "case"), plural(repetitions, "repetition"), jobs_in_words(plan)
    err.print(f"{paths.name}: {', '.join(counts)}")
    if render_only:
        for job in plan.jobs:
            out.print(str(paths.script(job.name)), soft_wrap=True)
        return 0
    with locked(paths.jobs) as lease, resumable(paths.name):
        if created.scheduler != "slurm":
            return run_here(created, list(query(created).runs), lease)
        whole = [Array(job.name, tuple(job.packed_elements)) for job in plan.jobs]
        submit_with_progress(created, workspace, whole, Journal(paths), lease)
    return wait_for(created) if wait else 0
