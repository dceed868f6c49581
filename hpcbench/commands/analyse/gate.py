"""hpcbench gate: run an experiment, compare it with a baseline, and return a verdict, for CI."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import click

from hpcbench.commands.shared.context import (
    archives_of_anybody,
    choose_site,
    file_in,
    open_sweep,
    set_option,
    site_option,
    sweep_argument,
    workspace_of,
)
from hpcbench.commands.shared.planning import check_slurm, cluster_of, placed, planned
from hpcbench.commands.shared.progress_bar import shown_after_a_while
from hpcbench.commands.shared.start_sweep import check_schedules, print_size, start
from hpcbench.commands.shared.verdicts import (
    Shown,
    compared,
    few_runs,
    how_to_repeat,
    nothing_compared,
    show_verdicts,
    verdict_options,
    write_documents,
)
from hpcbench.config.yaml_document import Document, load_yaml
from hpcbench.core.record import Record
from hpcbench.core.status import COMPLETED
from hpcbench.errors import UserError
from hpcbench.report.export.junit import Test
from hpcbench.report.export.report_junit import acceptance_tests
from hpcbench.report.load.acceptance import accepts, check_measurable, with_acceptance, with_required_metrics
from hpcbench.report.load.printed_units import mixed_units
from hpcbench.report.load.records import latest_records
from hpcbench.report.load.results import results_of
from hpcbench.report.terminal.acceptance import print_acceptance
from hpcbench.store.archive.pack import SUFFIX, write
from hpcbench.store.provenance.sweep_options import SweepOptions
from hpcbench.store.records import has_interference
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.submit.create_sweep import create
from hpcbench.util.console import err, print_warnings
from hpcbench.util.exit_status import FAILURE, SUCCESS, exit_statuses, worst
from hpcbench.util.text import plural

EPILOG = """\b
Examples:
  hpcbench gate main.tar.gz bench.yaml --update    on the main branch: create or update the baseline
  hpcbench gate main.tar.gz bench.yaml             on a pull request
  hpcbench gate main.tar.gz bench.yaml --markdown > comment.md
  hpcbench gate main.tar.gz bench.yaml --margin 3% --junit gate.xml --on-inconclusive pass
  hpcbench gate main bench.yaml --local            the baseline is the sweep `main` of this workspace

A verdict of faster or slower requires at least five runs without interference of each case in each sweep. Use
`measure: {repetitions: 10}` or more. A baseline with fewer than five is created with a warning, and the exit status
stays 0. If interference affects all runs of a case, it is not created, and the exit status is 3.
""" + exit_statuses(
    "a run failed, or a case is slower, worse, not accepted or missing",
    "inconclusive: no case is slower or worse, but at least one is inconclusive or not compared",
)


@click.command("gate", epilog=EPILOG)
@sweep_argument("baseline")
@click.argument("experiment")
@site_option()
@set_option()
@click.option("--local", is_flag=True, help="Run on this machine, in the foreground.")
@click.option("--update", is_flag=True, help=f"Write the new sweep to BASELINE (*{SUFFIX}) if the exit status is 0.")
@verdict_options
@click.pass_context
@archives_of_anybody()
def gate_command(
    context: click.Context,
    baseline: str,
    experiment: str,
    site: str | None,
    settings: tuple[str, ...],
    local: bool,
    update: bool,
    margin: float,
    inconclusive: int,
    top: int,
    as_markdown: bool,
    as_json: bool,
    junit_file: str | None,
    outputs: tuple[tuple[str, str], ...],
) -> int:
    """Run EXPERIMENT as a new sweep, wait for it, and compare each case with BASELINE, an archive or a sweep.

    With --update, create or replace BASELINE if the exit status is 0.
    """
    shown = Shown.of(top, as_json, as_markdown, junit_file, outputs)
    workspace = workspace_of(context)
    source = load_yaml(file_in(workspace, "experiments", experiment))
    base = _baseline(context, workspace, baseline, experiment, update=update)
    before = (latest_records(base), how_to_repeat(base)) if base else None
    sweep, ran = _measured(workspace, source, site, SweepOptions(settings, None, local))
    now = latest_records(sweep.paths)
    accepted = _accepted(sweep, now)
    ran = worst(ran, FAILURE if any(test.outcome for test in accepted) else SUCCESS)
    noisy = _print_interference(now, sweep.paths.name, baseline)
    if before is None:
        print_warnings(mixed_units(now))
        write_documents(replace(nothing_compared(now, baseline, margin), accepted=accepted), shown, inconclusive)
        status = worst(ran, inconclusive if noisy else SUCCESS)
    else:
        made = compared(before[0], now, margin, (before[1], how_to_repeat(sweep.paths)))
        made = replace(made, accepted=accepted)
        status = worst(ran, show_verdicts(made, shown, inconclusive))
    if update and _update(sweep.paths, Path(baseline), status, is_new=base is None):
        print_warnings(few_runs(now, baseline))
    return status


def _baseline(
    context: click.Context, workspace: Workspace, name: str, experiment: str, *, update: bool
) -> SweepPaths | None:
    """Return the sweep of the baseline; None if `update` will create its archive.

    Raise UserError if it does not exist otherwise, or if `update` cannot write it.
    """
    is_archive = name.endswith(SUFFIX)
    if update and not is_archive:
        replace = shlex.join(["hpcbench", "sweep", experiment, "--name", name, "--replace"])
        hint = f"name a file *{SUFFIX}; to replace a sweep: {replace}"
        raise UserError(f"--update requires an archive, but '{name}' is not one", hint=hint)
    if is_archive and not Path(name).exists():
        if not update:
            hint = f"create it: {shlex.join(['hpcbench', 'gate', name, experiment, '--update'])}"
            raise UserError(f"baseline '{name}' not found", hint=hint)
        if not Path(name).absolute().parent.is_dir():
            raise UserError(f"directory '{Path(name).parent}' not found", hint="create the directory first")
        return None
    try:
        return open_sweep(context, workspace, name)
    except UserError as error:
        if is_archive or any(sweep.startswith(name) for sweep in workspace.sweeps()):
            raise
        hint = f"create it: {shlex.join(['hpcbench', 'sweep', experiment, '--name', name])}"
        raise UserError(error.what, where=error.where, hint=hint) from error


def _measured(workspace: Workspace, source: Document, site: str | None, asked: SweepOptions) -> tuple[Sweep, int]:
    """Run an experiment as a new sweep until it has ended; return the sweep and its exit status."""
    plan, document = planned(source, asked, lambda: choose_site(workspace, site, asked.local), workspace.input_file)
    check_schedules(plan, workspace, document)
    paths, _, warnings = placed(plan, workspace, None, only_shown=False)
    print_warnings(warnings)
    check_slurm(plan)
    created = create(workspace, paths, plan, document, asked, cluster=cluster_of(plan.site))
    print_size(created, plan)
    return created, start(created, plan, workspace, wait=True)


def _accepted(sweep: Sweep, records: list[Record]) -> tuple[Test, ...]:
    """Print the verdicts of `accept`, and return them as tests. Raise UserError if no case can meet a condition."""
    if not accepts(sweep):
        return ()
    same = sweep.description["experiment"].get("same_workload", ())
    results = results_of(with_required_metrics([sweep], records), same_workload=same)
    results = with_acceptance(results, [sweep])
    print_acceptance(results, err)
    check_measurable(results)
    return tuple(acceptance_tests(results))


def _print_interference(records: list[Record], sweep: str, baseline: str) -> bool:
    """Print how many cases have only runs with interference; return whether there are any."""
    by_case: dict[str, list[bool]] = {}
    for record in records:
        if record.status == COMPLETED:
            by_case.setdefault(record.case_id, []).append(has_interference(record))
    noisy = sum(all(each) for each in by_case.values())
    if noisy:
        what = f"interference made all runs of {plural(noisy, 'case')} unusable"
        again = f"hpcbench resume {sweep} --interference, then hpcbench compare {shlex.quote(baseline)} {sweep}"
        err.print(f"{what}; to measure them again: {again}", soft_wrap=True, markup=False)
    return bool(noisy)


def _update(paths: SweepPaths, file: Path, status: int, *, is_new: bool) -> bool:
    """Write the sweep as the new baseline if the verdict passed, and return whether it did; print the result."""
    if status != SUCCESS:
        what = f"the baseline {file} was not {'created' if is_new else 'updated'}"
        hint = "" if is_new else "; to accept the new results, delete the file and repeat the command"
        err.print(what + hint, soft_wrap=True, markup=False)
        return False
    with shown_after_a_while("archiving") as report:
        write(paths, file, report, replace=True)
    done = "created" if is_new else "updated"
    err.print(f"{done} the baseline {file} from {paths.name}", soft_wrap=True, markup=False)
    return True
