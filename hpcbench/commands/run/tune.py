"""hpcbench tune: find the best configuration of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click
from pydantic import ValidationError
from rich.text import Text

from hpcbench.commands.options.completion import complete_experiment, complete_metric
from hpcbench.commands.options.dry_run import dry_run_options
from hpcbench.commands.options.outputs import STDOUT, json_option
from hpcbench.commands.shared.context import choose_site, file_in, set_option, site_option, workspace_of
from hpcbench.commands.shared.planning import check_slurm, cluster_of, placed, planned
from hpcbench.config.experiment import Experiment
from hpcbench.config.validation.findings import first_message
from hpcbench.config.yaml_document import Document, load_yaml
from hpcbench.core.run_spec import COMMAND
from hpcbench.plan.plan import Plan
from hpcbench.report.export.atomic_files import write_text
from hpcbench.report.export.plan_json import search_json
from hpcbench.report.terminal.dry_run import show_search
from hpcbench.report.terminal.tuning import in_words, time_in_words
from hpcbench.report.text.counts import or_unset
from hpcbench.store.provenance.sweep_options import SweepOptions
from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.submit.create_sweep import create
from hpcbench.tuning.surrogate import MAX_UNSAMPLED, check_installed
from hpcbench.util.console import err, out, print_warnings
from hpcbench.util.exit_status import SUCCESS, exit_statuses
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from hpcbench.tuning.search_space import Context

EPILOG = """\b
Examples:
  hpcbench tune lstm-threads --set cpus_per_task=4   the best thread counts for four CPUs
  hpcbench tune my.yaml --metric time                minimize the step time instead of maximizing throughput
  hpcbench tune my.yaml --exhaustive                 also measure the full grid, to check the result
  hpcbench tune my.yaml --dry-run                    show the search space; write nothing
  hpcbench tune my.yaml --json > best.json           for programs: the content of results/SWEEP/tuning.json
""" + exit_statuses("no configuration could be measured")


@click.command("tune", epilog=EPILOG)
@click.argument("experiment", shell_complete=complete_experiment)
@site_option()
@set_option()
@click.option("--name", metavar="NAME", help="Name the sweep.  [default: EXPERIMENT-DATE-TIME]")
@click.option(
    "--metric",
    metavar="NAME",
    shell_complete=complete_metric,
    help="Optimize this metric: throughput, time (of a step), or a metric of commands, with :higher or :lower if its "
    "better direction is unknown.  [default: throughput; for commands, their first metric with a known better "
    "direction, otherwise time]",
)
@click.option("--exhaustive", is_flag=True, help="Measure the full grid afterwards, to check the result.")
@click.option("--local", is_flag=True, help="Run on this machine, in the foreground.")
@click.option("--wait", is_flag=True, help="Wait until the job has ended, and print its result.")
@dry_run_options("Show the search space and the maximum cost; write nothing.")
@json_option("Print JSON: the result; with --dry-run, the search space.")
@click.pass_context
def tune_command(
    context: click.Context,
    experiment: str,
    site: str | None,
    settings: tuple[str, ...],
    name: str | None,
    metric: str | None,
    exhaustive: bool,
    local: bool,
    wait: bool,
    dry_run: bool,
    show_script: bool,
    as_json: bool,
) -> int:
    """Find the best configuration in the matrix of EXPERIMENT with few measurements.

    Use tune if you only need the fastest thread and runtime settings: it needs fewer runs than the full grid. If you
    need a result for every configuration, use `hpcbench sweep`.

    Slow configurations are measured briefly and dropped; fast ones are measured longer. The best one is recommended if
    it is significantly better than the framework defaults, which are always measured. The measurements are a sweep like
    any other.
    """
    from hpcbench.commands.shared.tuning import resume_search
    from hpcbench.tuning.objective import default_metric, objective_of
    from hpcbench.tuning.search_space import contexts

    workspace = workspace_of(context)
    source = load_yaml(file_in(workspace, "experiments", experiment))
    asked = SweepOptions(settings, None, local)
    plan, document = planned(source, asked, lambda: choose_site(workspace, site, local), workspace.input_file)
    checked = plan.experiment
    metric = metric or default_metric(plan.cases, checked)
    searched = contexts(plan.cases, objective_of(metric, checked), document)
    _check_choice(searched, checked, document)
    for each in searched:
        _check_shapes(each, checked, document)
    if any(len(each.cases) > MAX_UNSAMPLED for each in searched):
        check_installed()
    paths, _, warnings = placed(plan, workspace, name, only_shown=dry_run)
    print_warnings(warnings)
    if dry_run and as_json:
        most = _most(plan, searched, exhaustive)
        write_text(search_json(plan, paths.name, metric, [each.as_data() for each in searched], most, warnings), STDOUT)
    elif dry_run:
        _show(searched, checked)
        _show_most(plan, searched, exhaustive, workspace, paths, script=show_script)
    if dry_run:
        return SUCCESS
    check_slurm(plan)
    how = {"metric": metric, "exhaustive": exhaustive, "scheduler": plan.site.scheduler}
    cluster = cluster_of(plan.site)
    created = create(workspace, paths, _on_this_machine(plan), document, asked, tuning=how, cluster=cluster)
    err.print(f"{paths.name}: {plural(sum(len(each.cases) for each in searched), 'configuration')}")
    return resume_search(created, workspace, wait=wait, in_json=as_json)


def _check_choice(searched: Sequence[Context], experiment: Experiment, document: Document) -> None:
    """Raises UserError, with file and line, if there is nothing to search, or if held-out shapes have no use."""
    dynamic = any(each.dynamic for each in searched)
    if not dynamic and all(len(each.cases) == 1 for each in searched):
        hint = "add an axis of settings to the matrix, e.g. intra_op_threads: [1, 2]"
        raise document.error("the matrix has only one configuration, so there is nothing to search", ("matrix",), hint)
    if experiment.tune.held_out and not dynamic:
        what = "held-out shapes require a case with threads: dynamic"
        raise document.error(what, ("tune", "held_out"), "remove them, or add dynamic to an axis `threads`")


def _check_shapes(context: Context, experiment: Experiment, document: Document) -> None:
    """Raises UserError, with file and line, for a shape that the network does not accept, before the search begins."""
    from hpcbench.tuning.thread_schedule_search import at_shape

    for index, shape in enumerate(experiment.tune.held_out):
        try:
            at_shape(context.cases[context.default], shape)
        except ValidationError as error:
            raise document.error(first_message(error), ("tune", "held_out", index)) from error


def _on_this_machine(plan: Plan) -> Plan:
    """Return the plan with a local scheduler: one process starts the scripts one after another, in one job."""
    return replace(plan, site=plan.site.model_copy(update={"scheduler": "local"}))


def _most(plan: Plan, searched: Sequence[Context], exhaustive: bool) -> int:
    """Return the maximum number of measurements."""
    from hpcbench.tuning.tuner import max_measurements

    repetitions, shapes = plan.experiment.measure.repetitions, len(plan.experiment.tune.held_out)
    return max_measurements(searched, repetitions, shapes, exhaustive=exhaustive)


def _show_most(
    plan: Plan, searched: Sequence[Context], exhaustive: bool, workspace: Workspace, paths: SweepPaths, *, script: bool
) -> None:
    """Print the maximum cost; on a cluster also that of the job, and with `script` its script."""
    experiment, most = plan.experiment, _most(plan, searched, exhaustive)
    estimate = f"About {plural(most, 'measurement')} in total, plus repeats of those with interference"
    if all(case.parameters.framework != COMMAND for case in plan.cases):  # the duration of a program is unknown
        each_s = experiment.measure.max_warmup_s + experiment.measure.max_time_s
        estimate += f": about {time_in_words(most * each_s)} of measurement, plus the time to start the processes"
    out.print(f"{estimate}.", soft_wrap=True)
    if plan.site.scheduler == "slurm":
        show_search(plan, most, workspace, paths, with_script=script)


def _show(searched: Sequence[Context], experiment: Experiment) -> None:
    """Print the search space."""
    for each in searched:
        out.print(Text(each.title, style="bold"), soft_wrap=True)
        points = each.points
        levels = {name: dict.fromkeys(or_unset(point[name]) for point in points) for name in each.names}
        for name, values in levels.items():
            out.print(Text(f"  {name}: {', '.join(values)}"), soft_wrap=True)
        default = in_words(each.values(each.cases[each.default]))
        how = ": all measured briefly, the faster ones longer" if len(each.cases) > 1 else ""
        if len(each.cases) > MAX_UNSAMPLED:
            how = ": those proposed by a surrogate, and their neighbours"
        grid = plural(len(each.cases) * experiment.measure.repetitions, "run")
        out.print(Text(f"  default: {default}"), soft_wrap=True)
        out.print(Text(f"  {plural(len(each.cases), 'configuration')}{how}; the full grid is {grid}"), soft_wrap=True)
        if each.dynamic:
            shapes = experiment.tune.held_out
            held_out = f", also at {plural(len(shapes), 'held-out shape')}" if shapes else ""
            out.print(
                Text(f"  per-layer threads: a thread plan compared with the best of them{held_out}"), soft_wrap=True
            )
