"""hpcbench sweep: plan, render, submit."""

from __future__ import annotations

import datetime
from pathlib import Path

import click
from rich.markup import escape

from hpcbench.collect.progress import survey
from hpcbench.commands.common import choose_site, err, file_in, out, plural, resumable, workspace_of
from hpcbench.commands.dry_run import show
from hpcbench.commands.local_run import run_here
from hpcbench.commands.waiting import wait_for
from hpcbench.config.experiment import check_name, load_experiment
from hpcbench.config.loading import load_yaml
from hpcbench.config.settings import apply_settings
from hpcbench.errors import UserError
from hpcbench.plan.matrix import count_points
from hpcbench.plan.plan import Plan, check_size, make_plan
from hpcbench.submit.journal import Journal, locked
from hpcbench.submit.sweep import create, resolved
from hpcbench.workspace import SweepPaths, Workspace, check_root

MOST_POINTS = 100_000

EPILOG = """\b
Examples:
  hpcbench sweep quickstart                      a shipped experiment, by name
  hpcbench sweep my.yaml --dry-run               what would run, and what it may cost
  hpcbench sweep my.yaml --site gpu-cluster --set batch_size=64
  hpcbench sweep my.yaml --set 'matrix.nodes=[1,2,4]' --limit 3
  hpcbench sweep my.yaml --local                 on this machine, without Slurm

Exit status: 0 all is well; 1 a local or awaited case did not complete; 2 a mistake; 130 interrupted.
"""


@click.command(epilog=EPILOG, short_help="Plan an experiment, render its scripts, submit or run them.")
@click.argument("experiment", metavar="EXPERIMENT")
@click.option("--site", help="Site file, or the name of one.  [default: HPCBENCH_SITE, else Slurm, else this machine]")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a parameter or a key of the file.")
@click.option("--name", help="Name of the sweep.  [default: EXPERIMENT-DATE-TIME]")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N cases.")
@click.option("--local", is_flag=True, help="Run on this machine, in the foreground.")
@click.option("--dry-run", is_flag=True, help="Show the cases, the jobs and one script; write nothing.")
@click.option("--render-only", is_flag=True, help="Write the scripts; submit nothing.")
@click.option("--wait", is_flag=True, help="Return when every job has ended.")
@click.option("--yes", is_flag=True, help=f"Allow more than {MOST_POINTS:,} cases.")
@click.pass_context
def sweep(
    context: click.Context,
    experiment: str,
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
    """Measure every case of EXPERIMENT: a YAML file, or the name of one in configs/experiments.

    On a cluster it returns when the jobs are queued; on a machine without Slurm it runs them one after another.
    """
    workspace = workspace_of(context)
    source = file_in(workspace, "experiments", experiment)
    document = apply_settings(load_yaml(source), list(settings))
    checked = load_experiment(document)
    if not yes:
        points = count_points(checked)
        check_size(min(points, limit or points), MOST_POINTS, document)
    plan = make_plan(checked, document, choose_site(workspace, site, local), limit)
    paths = workspace.paths(_sweep_name(workspace, name, checked.name))
    check_root(workspace.root, plan.site.scheduler)
    environments = resolved(plan, workspace, only_shown=dry_run)
    outdated = [each.warning for each in environments.values() if each.warning]
    for warning in (*plan.warnings, *outdated):
        err.print(f"[yellow]warning:[/yellow] {escape(warning)}", soft_wrap=True)
    if dry_run:
        show(plan, workspace, paths, environments)
        return 0
    return _run(plan, workspace, paths, source, render_only, wait)


def _sweep_name(workspace: Workspace, given: str | None, experiment: str) -> str:
    if given is None:
        return workspace.new_name(experiment, datetime.datetime.now())
    if given == "latest":
        raise UserError("this word stands for the latest sweep", where="--name latest", hint="choose another")
    try:
        check_name(given)
    except ValueError as error:
        raise UserError(str(error), where=f"--name {given}") from error
    if workspace.paths(given).jobs.exists():
        raise UserError("a sweep of this name exists", where=str(workspace.paths(given).jobs), hint="choose another")
    return given


def _run(plan: Plan, workspace: Workspace, paths: SweepPaths, source: Path, render_only: bool, wait: bool) -> int:
    from hpcbench.commands.submitting import submit_with_progress  # submitit, which a dry run does not need
    from hpcbench.submit.slurm import check_available

    on_slurm = plan.site.scheduler == "slurm"
    if on_slurm and not render_only:
        check_available()
    created = create(workspace, paths, plan, source)
    repetitions = sum(len(job.runs) for job in plan.jobs)
    counts = ((plan.cases, "case"), (range(repetitions), "repetition"), (plan.jobs, "job"))
    err.print(f"{paths.name}: " + ", ".join(plural(len(things), word) for things, word in counts))
    if render_only:
        for job in plan.jobs:
            out.print(str(paths.script(job.name)), soft_wrap=True)
        return 0
    with resumable(paths.name), locked(paths.jobs):
        if not on_slurm:
            return run_here(created, list(survey(created).runs))
        whole = [(job.name, tuple(range(len(job.runs)))) for job in plan.jobs]
        submit_with_progress(created, whole, Journal(paths.journal))
    return wait_for(created) if wait else 0
