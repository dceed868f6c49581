"""hpcbench sweep: plan an experiment, render its scripts, and submit or run them."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

import click

from hpcbench.commands.options.failure_options import failure_limit_of
from hpcbench.commands.options.outputs import STDOUT
from hpcbench.commands.options.predict_options import PredictOptions
from hpcbench.commands.options.sweep_options import sweep_options
from hpcbench.commands.shared.context import choose_site, file_in, open_sweep, workspace_of
from hpcbench.commands.shared.planning import MOST_POINTS, check_slurm, cluster_of, placed, planned
from hpcbench.commands.shared.print_state import print_next, print_state
from hpcbench.commands.shared.replace import replacing
from hpcbench.commands.shared.start_sweep import check_schedules, print_size, start
from hpcbench.config.matrix.csv_group import Locate
from hpcbench.config.site import Site
from hpcbench.config.yaml_document import load_yaml
from hpcbench.core.start_rules.failure_limit import FailureLimit
from hpcbench.environments.resolve import Resolved
from hpcbench.plan.plan import Plan
from hpcbench.report.export.atomic_files import write_text
from hpcbench.report.export.plan_json import plan_json
from hpcbench.report.terminal.dry_run import show
from hpcbench.slurm.client import using
from hpcbench.store.predictions import SweepPredictions
from hpcbench.store.provenance.input_files import copy_or
from hpcbench.store.provenance.sweep_options import SweepOptions
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from hpcbench.submit.create_sweep import create
from hpcbench.submit.rerun import Rerun
from hpcbench.util.console import out, print_warnings
from hpcbench.util.exit_status import SUCCESS, exit_statuses
from hpcbench.util.own_variables import variables_restored

EPILOG = """\b
Examples:
  hpcbench sweep quickstart                      a shipped experiment, by name
  hpcbench sweep my.yaml --dry-run               what would run, and its maximum cost
  hpcbench sweep my.yaml --site gpu-cluster --set batch_size=64
  hpcbench sweep my.yaml --set 'matrix.nodes=[1,2,4]' --limit 3
  hpcbench sweep my.yaml --local                 on this machine, without Slurm
  hpcbench sweep --from lstm.tar.gz --dry-run    repeat a sweep, by name or from an archive
  hpcbench sweep my.yaml --name main --replace   replace the sweep `main`, e.g. a baseline of compare
  hpcbench sweep my.yaml --predict               predict each case, then measure it
""" + exit_statuses("a case did not complete, or lacks a metric (local, or with --wait)")


@click.command("sweep", epilog=EPILOG)
@sweep_options
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
    show_script: bool,
    render_only: bool,
    wait: bool,
    fail_fast: bool | None,
    max_failures: int | None,
    replace: bool,
    prediction: PredictOptions | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Measure all cases of EXPERIMENT: a YAML file, or the name of one in configs/experiments.

    Use sweep if you need a result for every case, e.g. for a figure or a comparison. If you only need the fastest
    thread and runtime settings, use `hpcbench tune`, which needs fewer runs.

    On a cluster, the command returns when the jobs are queued. Without Slurm, it runs them one after another. --from
    uses the experiment, overrides, site and template of an earlier sweep.
    """
    workspace = workspace_of(context)
    again = _again(context, workspace, experiment, origin)
    asked = _asked(again, settings, limit, local, site)
    source = load_yaml(again.experiment if again else file_in(workspace, "experiments", experiment or ""))
    chosen = partial(_site, context, workspace, again, site, local)
    plan, document = planned(source, asked, chosen, _locate(again, workspace), None if yes else MOST_POINTS)
    check_schedules(plan, workspace, document)
    nothing_runs = dry_run or render_only
    paths, environments, warnings = placed(plan, workspace, name, only_shown=dry_run, replace=replace)
    warnings += _differences(again, plan, environments, workspace, not settings and limit is None, nothing_runs)
    print_warnings(warnings)
    if not nothing_runs:
        check_slurm(plan)
    predictions = _predicted(plan, workspace, prediction)
    template = again.template if again else None
    if dry_run and as_json:
        write_text(plan_json(plan, paths.name, warnings, predictions), STDOUT)
    elif dry_run:
        show(plan, workspace, paths, environments, template, with_script=show_script, predictions=predictions)
    if dry_run:
        return SUCCESS
    ask = not (again and nothing_runs)
    make = partial(create, workspace, paths, plan, document, asked, template, ask_packages=ask, predictions=predictions)
    with replacing(paths, again.sweep.paths if again else None, yes=yes) if replace else nullcontext():
        created = make(cluster=cluster_of(plan.site))
    failures = failure_limit_of(fail_fast, max_failures, created.scheduler)
    return _run(created, plan, workspace, failures, render_only=render_only, wait=wait, as_json=as_json)


def _asked(
    again: Rerun | None, settings: tuple[str, ...], limit: int | None, local: bool, site: str | None
) -> SweepOptions:
    """Return the options of the new sweep; of a repeated one, in addition to its own."""
    if again is None:
        return SweepOptions(settings, limit, local)
    return again.asked_also(settings, limit, local or (again.asked.local and site is None))


def _predicted(plan: Plan, workspace: Workspace, options: PredictOptions | None) -> SweepPredictions | None:
    """Return the predictions of the cases; None without --predict."""
    if options is None:
        return None
    with variables_restored():  # of the runs on this machine
        from hpcbench.commands.shared.predictions.predict_sweep import predict_sweep  # imports the models

        return predict_sweep(plan, workspace, options)


def _differences(
    again: Rerun | None,
    plan: Plan,
    environments: dict[str, Resolved],
    workspace: Workspace,
    same: bool,
    nothing_runs: bool,
) -> list[str]:
    """Return what has changed since the repeated sweep; empty without one."""
    if again is None:
        return []
    found = again.differences(plan, environments, workspace, same=same, nothing_runs=nothing_runs)
    skipped = "packages are not compared, since that would run the Python of each environment"
    return [*found, *([skipped] if nothing_runs else [])]


def _site(context: click.Context, workspace: Workspace, again: Rerun | None, site: str | None, local: bool) -> Site:
    """Return the given site, otherwise that of the repeated sweep, or the default one."""
    if not again or site:
        return choose_site(workspace, site, local)
    found = again.site(local)
    context.with_resource(using(found.slurm_conf))
    return found


def _locate(again: Rerun | None, workspace: Workspace) -> Locate:
    """Return how to find CSV files: as copies in the repeated sweep, otherwise in the workspace."""
    return copy_or(again.sweep.paths.jobs, workspace.input_file) if again else workspace.input_file


def _again(context: click.Context, workspace: Workspace, experiment: str | None, origin: str | None) -> Rerun | None:
    """Return the sweep of --from, or None. Raises UsageError unless either it or EXPERIMENT is given."""
    if (experiment is None) == (origin is None):
        raise click.UsageError("give either EXPERIMENT or --from SWEEP", context)
    return Rerun.of(open_sweep(context, workspace, origin)) if origin is not None else None


def _run(
    created: Sweep,
    plan: Plan,
    workspace: Workspace,
    failures: FailureLimit,
    *,
    render_only: bool,
    wait: bool,
    as_json: bool,
) -> int:
    print_size(created, plan)
    scripts = [str(created.paths.script(job.name)) for job in plan.jobs]
    status = SUCCESS if render_only else start(created, plan, workspace, wait=wait, limit=failures)
    if as_json:
        print_state(created, scripts=scripts)
    elif not render_only and (wait or created.scheduler == "local"):
        print_next(created, status)
    elif render_only:
        for script in scripts:
            out.print(script, soft_wrap=True)
    return status
