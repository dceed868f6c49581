"""The output of --dry-run and --show-script: cases, commands, jobs, budget, the first script, and the script of the
workspace for the continuation job; for tune the job of the search."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from hpcbench.config.parameters import Parameters
from hpcbench.config.pricing import Price, has_prices
from hpcbench.config.site import Cost, Site
from hpcbench.config.workload.nested import keys_in, shown_value
from hpcbench.config.workload.operator_parameters import applies
from hpcbench.core.run_spec import COMMAND
from hpcbench.environments.resolve import Resolved
from hpcbench.plan.case import Case
from hpcbench.plan.packing import Job
from hpcbench.plan.plan import Plan, budget
from hpcbench.plan.profiled_cases import OPERATORS, estimate
from hpcbench.report.text.counts import jobs_in_words, or_unset
from hpcbench.report.text.predicted.planned import planned_columns, reasons
from hpcbench.report.text.text_columns import as_table, fitting
from hpcbench.slurm.queue import SEARCH
from hpcbench.store.predictions import SweepPredictions
from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.submit.script import ScriptWriter
from hpcbench.submit.template import OF_FOLLOW_ON, OF_SEARCH, Template
from hpcbench.util.console import out
from hpcbench.util.text import plural, printable

MAX_ROWS = 20
MAX_COMMANDS = 20
_EMPTY = {"", or_unset(None)}


def show(
    plan: Plan,
    workspace: Workspace,
    paths: SweepPaths,
    environments: Mapping[str, Resolved],
    template: Path | None = None,
    *,
    with_script: bool,
    predictions: SweepPredictions | None = None,
) -> None:
    """Print the cases, commands and jobs of a plan, and on Slurm the maximum of its node-hours and its cost.

    If there are `predictions` of the cases, print them. With `with_script`, also print the script of the first job,
    by `template` or the default one. Write and submit nothing. Raise UserError if the script cannot be rendered.
    """
    out.print(f"[bold]{paths.name}[/bold] on {plan.site.name} ({plan.site.scheduler})")
    out.print(_cases(plan))
    _commands(plan.cases)
    if predictions is not None:
        _predictions(predictions)
    out.print(_jobs(plan))
    if plan.site.scheduler == "slurm":
        _most(plan.jobs, plan.site)
    _profile(plan)
    job = plan.jobs[0]
    writer = ScriptWriter(workspace, paths, plan.site, plan.experiment, template)
    script = writer.render(job, environments[job.resources.environment].python)
    if with_script:
        _script(f"{job.name}.sh", writer.template, script)
        _own_follow_on(plan, workspace, paths)
    else:
        _name_option(f"{job.name}.sh")


def _predictions(predictions: SweepPredictions) -> None:
    """Print the predictions of the first MAX_ROWS cases, and why cases have none."""
    cases = predictions.predicted
    if cases:
        out.print(f"\n[italic]predictions of {plural(len(cases), 'case')}[/italic]")
        out.print(as_table(fitting(planned_columns(cases[:MAX_ROWS]), out.width)))
    if len(cases) > MAX_ROWS:
        out.print(f"... and {len(cases) - MAX_ROWS} more")
    for reason in reasons(predictions):
        out.print(Text(reason), soft_wrap=True)
    out.print()


def _name_option(script: str) -> None:
    out.print(f"To see {script}, add --show-script.", soft_wrap=True)


def show_search(plan: Plan, measurements: int, workspace: Workspace, paths: SweepPaths, *, with_script: bool) -> None:
    """Print the budget of the job of a search with at most `measurements` measurements, and optionally its script."""
    from hpcbench.submit.tuning_job import job_of, render  # imports submitit, which other dry runs do not need

    _most((job_of(plan, measurements),), plan.site)
    if not with_script:
        _name_option(f"{SEARCH}.sh")
        return
    _script(f"{SEARCH}.sh", Template.find(workspace, OF_SEARCH), render(plan, measurements, paths, workspace))


def _most(jobs: tuple[Job, ...], site: Site) -> None:
    most = budget(jobs, site)
    out.print(
        f"At most {most.node_hours:,.2f} node-hours, {most.core_hours:,.2f} core-hours, "
        f"{most.gpu_hours:,.2f} GPU-hours; the longest time limit is {_time(most.longest_s)}."
    )
    _price(site.cost, most.price)


def _profile(plan: Plan) -> None:
    """Print the estimated node-hours of a profile, and without Slurm also the maximum by the time limits."""
    profile, found = plan.experiment.measure.profile, estimate(plan.experiment.measure)
    if not profile or not found:
        return
    timing, power = found.node_hours(plan.jobs)
    states = f" at the default clock and {profile.clocks} others" if profile.clocks else ""
    sensor = f" (with power sensor: {timing + power:,.2f})" if power else ""
    text = f"Estimated cost: {timing:,.2f} node-hours{sensor}, assuming {OPERATORS} operators per network{states}."
    if plan.site.scheduler != "slurm":
        text += f" Limit: {budget(plan.jobs, plan.site).node_hours:,.2f} node-hours (time limits of the jobs)."
    out.print(text, soft_wrap=True)


def _script(name: str, template: Template, script: str) -> None:
    out.print(f"\n[bold]{name}[/bold], from {escape(str(template.file))}:", soft_wrap=True)
    sys.stdout.write(printable(script))


def _own_follow_on(plan: Plan, workspace: Workspace, paths: SweepPaths) -> None:
    """Print the script of the continuation job, if its template is from the workspace."""
    template, slurm = Template.find(workspace, OF_FOLLOW_ON), plan.follow_on
    if template.is_own and slurm is not None:
        from hpcbench.submit.continuation_job import render  # imports submitit, as above

        _script(OF_FOLLOW_ON.removesuffix(".j2"), template, render(workspace, paths, slurm, plan.site))


def _commands(cases: tuple[Case, ...]) -> None:
    """Print the distinct commands of the cases, at most MAX_COMMANDS, with all of their lines."""
    commands = list(dict.fromkeys(case.parameters.command for case in cases if case.parameters.command is not None))
    if not commands:
        return
    out.print(f"\n[italic]{plural(len(commands), 'command')}[/italic]")
    for command in commands[:MAX_COMMANDS]:
        out.print(Text(command), soft_wrap=True)
    if len(commands) > MAX_COMMANDS:
        out.print(f"... and {len(commands) - MAX_COMMANDS:,} more")
    out.print()


def _price(cost: Cost, price: Price) -> None:
    if price.amount is not None:
        out.print(f"At the site's prices, this costs at most {price.amount:,.2f} {cost.currency}.")
    elif has_prices(cost):
        out.print(f"The cost is unknown: {price.reason}.", soft_wrap=True)


def _cases(plan: Plan) -> Table:
    axes = plan.experiment.axis_names
    set_by_key = {name.partition(".")[0] for name in axes if "." in name}
    derived = (name for name in _derived(plan.cases) if name not in set_by_key)
    names = list(dict.fromkeys([*axes, *derived]))
    columns: dict[str, list[str]] = {}
    for name in names:
        cells = [_cell(case, name, keys_in(names, name)) for case in plan.cases[:MAX_ROWS]]
        if set(cells) - _EMPTY:
            size = name.removeprefix("sizes.")
            columns[name if size in names else size] = cells
    table = _table(plan, columns, "right")
    if not columns or out.measure(table, options=out.options.update(width=sys.maxsize)).maximum <= out.width:
        return table
    return _table(plan, _as_list(columns), "left")


def _cell(case: Case, name: str, left_out: list[str]) -> str:
    values = {**case.parameters.model_dump(mode="json"), **case.user_parameters}
    return or_unset(shown_value(values, name, *left_out)) if _applies(name, case) else ""


def _as_list(columns: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return one column with the values in which the shown cases differ; its header has the values that they share."""
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    shared = {name: cells[0] for name, cells in columns.items() if len(set(cells)) == 1 < len(cells)}
    header = f"all shown cases: {_in_line(shared)}" if shared else ""
    return {header: [_in_line({name: row[name] for name in row if name not in shared}) for row in rows]}


def _in_line(values: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items() if value not in _EMPTY)


def _table(plan: Plan, columns: Mapping[str, list[str]], justify: Literal["left", "right"]) -> Table:
    table = Table(title=plural(len(plan.cases), "case"), title_justify="left", box=None, pad_edge=False)
    table.add_column("case", no_wrap=True)
    for name in columns:
        table.add_column(escape(name), justify=justify, overflow="fold")
    for case, *cells in zip(plan.cases[:MAX_ROWS], *columns.values(), strict=True):
        table.add_row(case.id, *map(escape, cells))
    if len(plan.cases) > MAX_ROWS:
        table.caption = f"... and {len(plan.cases) - MAX_ROWS} more"
    return table


def _applies(name: str, case: Case) -> bool:
    return case.parameters.framework == COMMAND or applies(name.partition(".")[0], case.parameters)


def _derived(cases: tuple[Case, ...]) -> list[str]:
    """Return the parameters that differ between the cases to which they apply."""

    def values(name: str) -> set[Any]:
        return {str(getattr(case.parameters, name)) for case in cases if _applies(name, case)}

    return [name for name in Parameters.model_fields if len(values(name)) > 1]


def _jobs(plan: Plan) -> Table:
    jobs = plan.jobs
    table = Table(title=jobs_in_words(plan), title_justify="left", box=None, pad_edge=False)
    for name in (
        "job",
        "runs",
        "array tasks",
        "nodes",
        "tasks per node",
        "CPUs per task",
        "GPUs per task",
        "time limit",
        "environment",
    ):
        table.add_column(name, justify="left" if name in ("job", "environment") else "right")
    for job in jobs[:MAX_ROWS]:
        r = job.resources
        sizes = (len(job.runs), len(job.packs))
        numbers = (r.nodes, job.width * r.tasks_per_node, r.cpus_per_task, r.gpus_per_task)
        table.add_row(job.name, *map(str, sizes + numbers), job.time, r.environment)
    if len(jobs) > MAX_ROWS:
        table.caption = f"... and {len(jobs) - MAX_ROWS} more"
    return table


def _time(seconds: int) -> str:
    return f"{seconds // 3600}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"
