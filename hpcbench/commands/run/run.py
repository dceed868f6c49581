"""hpcbench run: measure a program without an experiment file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from hpcbench.commands.options.dry_run import dry_run_options
from hpcbench.commands.options.extras import missing_packages
from hpcbench.commands.options.failure_options import failure_limit_of, failure_options
from hpcbench.commands.options.parameter_option import parameter_option
from hpcbench.commands.shared.context import choose_site, set_option, site_option, workspace_of
from hpcbench.commands.shared.json_schema import schema_comment
from hpcbench.commands.shared.planning import check_slurm, cluster_of, placed, planned
from hpcbench.commands.shared.start_sweep import print_size, start
from hpcbench.config.experiment import load_experiment
from hpcbench.config.matrix.csv_group import with_csv_files
from hpcbench.config.options.command_experiment import Invocation, document_of
from hpcbench.config.options.extract_option import HELP, METAVAR, metrics_of
from hpcbench.config.options.overrides import apply_overrides
from hpcbench.config.options.parameter_values import axes_of
from hpcbench.config.yaml_document import Document
from hpcbench.config.yaml_writer import yaml_text
from hpcbench.core import status
from hpcbench.core.run_spec import COMMAND, LAUNCHERS
from hpcbench.environments.locations import environment_dirs
from hpcbench.errors import UserError
from hpcbench.report.terminal.dry_run import show
from hpcbench.store.provenance.secret_check import refuse_secrets
from hpcbench.store.provenance.sweep_options import SweepOptions
from hpcbench.store.records import read_records
from hpcbench.store.run_states import run_states
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from hpcbench.submit.create_sweep import create
from hpcbench.util.console import err, out, print_warnings
from hpcbench.util.exit_status import exit_statuses

EPILOG = """\b
Examples:
  hpcbench run -- python3 train.py
  hpcbench run -P batch_size=32,64 -- python3 train.py --bs {batch_size}
  hpcbench run -P workers=1..8 --extract 'rate:higher=samples/s=([0-9.]+)' \\
      -- python3 train.py --workers {workers}
  hpcbench run --site mine --nodes 2 --tasks-per-node 4 --gpus-per-task 1 -- python3 train.py
  hpcbench run --launch torchrun --tasks-per-node 2 -- python3 ddp.py
  hpcbench run -- 'python3 train.py | tee log.txt'     a line of bash, in quotes
  hpcbench run --save bench.yaml -- python3 train.py   write an experiment file to extend
""" + exit_statuses("a run did not complete, or lacks a metric")
_NOT_DETACHED = "--detach has no effect without Slurm: the runs are executed in the foreground"


@click.command("run", epilog=EPILOG, context_settings={"allow_interspersed_args": False})
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGUMENT]...")
@parameter_option()
@click.option(
    "--extract",
    "extracts",
    multiple=True,
    metavar=METAVAR,
    help=f"Read this metric from the output; may be repeated. {HELP}",
)
@click.option(
    "--metric",
    metavar="NAME",
    help="Rank by this metric of --extract, or one found in the output, with :higher or :lower if its better direction "
    "is unknown.  [default: with hpcbench_probe, the throughput, or the step time without items; otherwise the first "
    "of --extract with a known better direction; otherwise the time]",
)
@click.option("--repetitions", type=click.IntRange(1, 1000), metavar="N", help="Run each case N times.  [default: 6]")
@site_option()
@click.option("--local", is_flag=True, help="Run on this machine, in the foreground.")
@click.option("--nodes", type=click.IntRange(min=1), metavar="N", help="Use N nodes.  [default: 1]")
@click.option("--tasks-per-node", type=click.IntRange(min=1), metavar="N", help="Start N tasks per node.  [default: 1]")
@click.option("--cpus-per-task", type=click.IntRange(min=1), metavar="N", help="Use N CPUs per task.  [default: 1]")
@click.option("--gpus-per-task", type=click.IntRange(min=0), metavar="N", help="Use N GPUs per task.  [default: 0]")
@click.option(
    "--launch",
    type=click.Choice(LAUNCHERS),
    help="Start the processes with srun (one per task), torchrun (on each node) or mpirun; `none` starts only one.  "
    "[default: srun]",
)
@click.option(
    "--environment", metavar="NAME", help="Run in this environment of the site (modules, container or Python)."
)
@failure_options
@set_option()
@click.option("--name", metavar="NAME", help="Name the sweep.  [default: PROGRAM-DATE-TIME]")
@click.option(
    "--save", "saved", metavar="FILE", help="Write the experiment to FILE, or to stdout if FILE is -; run nothing."
)
@click.option("--detach", is_flag=True, help="On Slurm, return as soon as the jobs are queued.")
@dry_run_options("Show cases, commands, jobs and the maximum cost; write nothing.")
@click.pass_context
def run_command(
    context: click.Context,
    /,
    program: tuple[str, ...],
    parameters: tuple[str, ...],
    extracts: tuple[str, ...],
    metric: str | None,
    repetitions: int | None,
    site: str | None,
    local: bool,
    settings: tuple[str, ...],
    name: str | None,
    saved: str | None,
    detach: bool,
    fail_fast: bool | None,
    max_failures: int | None,
    dry_run: bool,
    show_script: bool,
    **resources: Any,
) -> int:
    """Measure PROGRAM with all combinations of the given parameters.

    PROGRAM runs in the current folder: in Slurm jobs on a cluster, otherwise on this machine. The results are a sweep
    like any other, in ./results; its jobs are in ./jobs.
    """
    if not program or not program[0].strip():
        raise click.UsageError("missing PROGRAM, e.g. hpcbench run -- python3 train.py", context)
    constants = {key: value for key, value in resources.items() if value is not None}
    metrics = metrics_of(extracts)
    source = document_of(Invocation(program, axes_of(parameters, constants), constants, metrics, repetitions, metric))
    if saved is not None and dry_run:
        raise UserError("--save cannot be used with --dry-run", hint="to print the experiment: --save -")
    workspace = workspace_of(context)
    if saved is not None:
        limits = {"fail_fast": fail_fast, "max_failures": max_failures}
        options = _options_given(site=site, local=local or None, name=name, **limits)
        return _save(apply_overrides(source, list(settings)), saved, options, workspace)
    asked = SweepOptions(settings, None, local)
    plan, document = planned(source, asked, lambda: choose_site(workspace, site, local), workspace.input_file)
    paths, environments, warnings = placed(plan, workspace, name, only_shown=dry_run)
    in_foreground = plan.site.scheduler != "slurm"
    print_warnings([*warnings, *([_NOT_DETACHED] if detach and in_foreground else [])])
    if dry_run:
        show(plan, workspace, paths, environments, with_script=show_script)
        return 0
    check_slurm(plan)
    created = create(workspace, paths, plan, document, asked, cluster=cluster_of(plan.site))
    print_size(created, plan)
    limit = failure_limit_of(fail_fast, max_failures, created.scheduler)
    completed = start(created, plan, workspace, wait=not detach, live=True, limit=limit)
    return completed if detach and not in_foreground else _report(context, created, workspace, completed)


def _options_given(**options: str | int | bool | None) -> list[str]:
    """Return the words of options, e.g. ["--site", "mine", "--no-fail-fast"]; None is an option that was not given."""
    words = []
    for name, value in options.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        elif value is not None:
            words += [f"--{option}", str(value)]
    return words


def _save(document: Document, file: str, options: list[str], workspace: Workspace) -> int:
    """Write the experiment to a new file, or to standard output for `-`; print the command that runs it with `options`.

    Raise UserError if the file exists.
    """
    load_experiment(with_csv_files(document, workspace.input_file))
    text = schema_comment("experiment", Path(file)) + yaml_text(document.data)
    refuse_secrets(text, document.name)
    if file == "-":
        out.print(text, end="", markup=False, highlight=False, soft_wrap=True)
        return 0
    try:
        with Path(file).open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError as error:
        raise UserError(f"'{file}' already exists", where="--save", hint="choose another name") from error
    command = shlex.join(["hpcbench", "sweep", file, *options])
    err.print(f"wrote {file}; to run it: {command}", soft_wrap=True, markup=False)
    return 0


def _report(context: click.Context, sweep: Sweep, workspace: Workspace, completed: int) -> int:
    """Print the results, and the next steps."""
    from hpcbench.commands.analyse.report import report_command  # imports pandas

    name = sweep.paths.name
    with report_command.make_context("report", ["--", name], parent=context.parent) as inner:
        reported = int(report_command.invoke(inner))
    if found := _environments(sweep, workspace):
        what = "a Python module was not found; to use an environment that may have it, add --environment"
        err.print(f"{what} {' or '.join(found)}", soft_wrap=True, markup=False)
    err.print(f"next: {_next(sweep)}", soft_wrap=True, markup=False)
    return max(completed, reported)


def _environments(sweep: Sweep, workspace: Workspace) -> list[str]:
    """Return the environments of the site and the workspace if a program in none of them lacks a Python module."""
    in_shell = all(sweep.environment(job)[0] == COMMAND for job in sweep.job_names)
    errors = (record.error for record in read_records(sweep.paths).records if record.error)
    if not in_shell or not any("No module named" in error.message for error in errors):
        return []
    names = {*sweep.site.environments, *(each.name for each in environment_dirs(workspace))}
    return sorted(names - {COMMAND})


def _next(sweep: Sweep) -> str:
    """Return the command that shows more about a sweep: its results in a file, or why no run completed."""
    name, states = shlex.quote(sweep.paths.name), run_states(sweep)
    if status.COMPLETED not in states:
        has_failed = any(state in status.STATUSES and state not in status.NOT_FAILED for state in states)
        return f"hpcbench logs {name} --failed" if has_failed else f"hpcbench status {name}"
    return f"hpcbench report {name} {'-o results.csv' if missing_packages('html') else '--html report.html'}"
