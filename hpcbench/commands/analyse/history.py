"""hpcbench history: the results of an experiment over time, and their changes."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from hpcbench.analysis.cases.labels import telling_apart
from hpcbench.analysis.cases.quantities import THROUGHPUT, TIME, Quantity, as_reported, short_column
from hpcbench.analysis.studies.history import CaseHistory, Shift, case_histories, points, shifts
from hpcbench.collect.history import Head, Heads, Past, drivers, heads, read_past
from hpcbench.collect.table import identifying_columns, repetition_table
from hpcbench.commands.options.completion import complete_experiment, complete_metric
from hpcbench.commands.options.extras import require_packages
from hpcbench.commands.options.figure_options import figure_options, formats_of, write_figures
from hpcbench.commands.options.outputs import file_option, json_option, output_option, requested, write_outputs
from hpcbench.commands.shared.context import file_in, workspace_of
from hpcbench.commands.shared.progress_bar import shown_after_a_while
from hpcbench.commands.shared.verdicts import on_inconclusive_option
from hpcbench.config.yaml_document import load_yaml
from hpcbench.core.samples import PROBED
from hpcbench.errors import UserError, nearest
from hpcbench.report.export.atomic_files import write_text
from hpcbench.report.export.csv_parquet import write_csv, write_parquet
from hpcbench.report.export.history_json import history_json
from hpcbench.report.load.metrics import DEFAULT_METRIC, default_quantity, named, quantities_of
from hpcbench.report.load.rank_by import place_of
from hpcbench.report.terminal.history import History, history_table, print_history
from hpcbench.store.sweep import load
from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.util.console import err, out, print_warnings
from hpcbench.util.exit_status import FAILURE, INCONCLUSIVE, SUCCESS, exit_statuses
from hpcbench.util.gc_pause import without_garbage_collection
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from hpcbench.report.charts.components import Figure

FOLLOWED = {each.column: each for each in (THROUGHPUT, TIME)}
FORMATS = ("json", "csv", "parquet", "html")
MOST_NAMED = 5

EPILOG = """\b
Examples:
  hpcbench history nightly                          every sweep of the experiment `nightly`, and its changes
  hpcbench history nightly.yaml --since 2026-05-01  the experiment that this file names
  hpcbench history nightly --last 100 --on-inconclusive pass
  hpcbench history nightly --html history.html      a page with the plot, the changes and every value
  hpcbench history nightly --figures plots --figure-format pdf --theme paper
  hpcbench history nightly -o history.csv           one row per sweep and case
  hpcbench history bench --metric rate:higher       a metric of commands

history reads only the records of the workspace. To detect a change, a case needs at least 10 sweeps, 5 of them after
the change. With more cases, each needs more sweeps: 13 for 2 cases, 18 for 20 cases.
""" + exit_statuses(
    "a case of the latest sweep is slower or worse since its latest change, or has no value",
    "inconclusive: no such case, but at least one has no verdict",
)


@click.command("history", epilog=EPILOG)
@click.argument("experiment", shell_complete=complete_experiment)
@click.option(
    "--filter-site", metavar="NAME", help="Use only sweeps on this site.  [default: the site of the latest sweep]"
)
@click.option(
    "--metric",
    metavar="NAME",
    shell_complete=complete_metric,
    help=f"Follow this metric: {', '.join(map(short_column, FOLLOWED))}, or a metric of commands, with :higher or "
    f":lower if its better direction is unknown.  {DEFAULT_METRIC}",
)
@click.option(
    "--since", type=click.DateTime(), metavar="DATE", help="Use only sweeps since this day, e.g. 2026-05-01 (UTC)."
)
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Use only the last N sweeps.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=40,
    show_default=True,
    help="Print at most N cases and N changes.",
)
@on_inconclusive_option()
@json_option()
@file_option("csv", "CSV")
@file_option("html", "a self-contained page with summary, plot, changes and table")
@output_option(*FORMATS)
@figure_options
@click.pass_context
@without_garbage_collection()
def history_command(
    context: click.Context,
    experiment: str,
    filter_site: str | None,
    metric: str | None,
    since: datetime.datetime | None,
    last: int | None,
    top: int,
    inconclusive: int,
    as_json: bool,
    csv_file: str | None,
    html_file: str | None,
    outputs: tuple[tuple[str, str], ...],
    figures: str | None,
    formats: str,
    theme: str,
) -> int:
    """Show the results of EXPERIMENT, a name or a file, over all its sweeps on one site.

    Print a row per case, and a line per change of its median, with the differences in the setup.
    """
    wanted = formats_of(context, figures, formats)
    asked = requested({"json": as_json}, {"csv": csv_file, "html": html_file}, outputs, figures)
    require_packages(asked, figures)
    workspace = workspace_of(context)
    name = _name(workspace, experiment)
    all_heads = heads(workspace)
    chosen = _limited(_on_one_site(_of_experiment(all_heads, name, workspace), filter_site), since, last)
    with shown_after_a_while("reading sweeps") as report:
        past = read_past(chosen, report)
    _print_left_out({**all_heads.left_out, **past.left_out}, past.damaged)
    if not past.rows:
        err.print("no records could be read; see: hpcbench list sweeps")
        return FAILURE
    made = _history(past, chosen, _followed(past, metric, chosen[-1].paths), intervals=bool(figures or asked))
    if not any(output.is_stdout for output in asked):
        print_history(made, top, out)
    if len(made.sweeps) == 1:
        err.print("only one sweep found; more sweeps are required to detect changes")
    drawn = _figures(made) if figures or any(output.format == "html" for output in asked) else []
    if figures:
        write_figures(drawn, figures, wanted, theme, "nothing was measured")
    writers = {
        "json": lambda file: write_text(history_json(made), file),
        "csv": lambda file: write_csv(history_table(made), file),
        "parquet": lambda file: write_parquet(history_table(made), file),
        "html": lambda file: _write_page(made, drawn, file),
    }
    write_outputs(asked, writers, dict.fromkeys(writers, plural(len(made.sweeps), "sweep")))
    return _status(made, inconclusive)


def _followed(past: Past, metric: str | None, latest: SweepPaths) -> Quantity:
    """Return the quantity to follow: the named one, otherwise the one by which a report of the latest sweep ranks.

    Raise UserError for an unknown name; the throughput is unknown if no run has items per step, as with commands.
    """
    metrics = quantities_of(past.metrics)
    has_rate = any(row["items_per_step"] is not None for row in past.rows)
    known = {column: each for column, each in FOLLOWED.items() if has_rate or each != THROUGHPUT}
    if metric is not None:
        return named(metric, known, metrics, has_direction=False)
    ranked, place = _rank_by(latest)
    if ranked is not None:
        try:
            return named(ranked, known, metrics, has_direction=False)
        except UserError as error:
            print_warnings([f"{place}: {error.what}, so the default metric is followed"])
    has_steps = any(row[PROBED] is not None for row in past.rows)  # and metrics of their phases
    return default_quantity(() if has_steps else metrics.values(), has_throughput=has_rate)


def _rank_by(latest: SweepPaths) -> tuple[str | None, str]:
    """Return the metric by which a report of a sweep ranks, if one is set, and where the user has set it."""
    try:
        sweep = load(latest)
        return sweep.description["experiment"].get("rank_by"), place_of(sweep)
    except (UserError, LookupError):  # only the records are kept
        return None, ""


def _status(made: History, inconclusive: int) -> int:
    """Return the exit status by the cases of the latest sweep; `inconclusive` is the one without a verdict."""
    if made.got_worse or made.unmeasured:
        return FAILURE
    if not made.undecided:
        return SUCCESS
    if inconclusive == INCONCLUSIVE:
        names = [made.labels[case] or made.experiment for case in made.undecided]
        what = f"inconclusive for {plural(len(names), 'case')}, e.g. {names[0]}"
        err.print(f"{what}: exit status {INCONCLUSIVE}; to change it: --on-inconclusive fail or pass", soft_wrap=True)
    return inconclusive


def _figures(made: History) -> list[Figure]:
    from hpcbench.report.charts.history import figures_of_history

    return figures_of_history(made)


def _write_page(made: History, drawn: list[Figure], file: str) -> None:
    from hpcbench.report.html.history import page_of_history
    from hpcbench.report.html.render import render

    write_text(render(page_of_history(made, drawn, datetime.datetime.now().astimezone())), file)


def _name(workspace: Workspace, experiment: str) -> str:
    """Return the name in an experiment file, or the argument itself if it is a name."""
    if not experiment.endswith((".yaml", ".yml")) and "/" not in experiment:
        return experiment
    document = load_yaml(file_in(workspace, "experiments", experiment))
    if not isinstance(document.data.get("name"), str):
        raise UserError("'name' is missing", where=experiment, hint="add `name: NAME` to the file")
    return str(document.data["name"])


def _of_experiment(all_heads: Heads, name: str, workspace: Workspace) -> list[Head]:
    """Return the sweeps of an experiment. Raises UserError if it has none with records."""
    chosen = [head for head in all_heads.found if head.experiment == name]
    if not chosen:
        known = {head.experiment for head in all_heads.found}
        hint = nearest(name, known) or f"run it: hpcbench sweep {name}"
        raise UserError(f"experiment '{name}' has no records", where=str(workspace.root), hint=hint)
    return chosen


def _on_one_site(found: list[Head], site: str | None) -> list[Head]:
    """Return the sweeps on a site (default: that of the latest). Raises UserError if no sweep ran there."""
    sites = dict.fromkeys(head.site for head in reversed(found))  # the latest first
    if site is not None and site not in sites:
        raise UserError(f"no sweep ran on the site '{site}'", where="--filter-site", hint=nearest(site, sites))
    chosen = site or next(iter(sites))
    others = [name for name in sites if name != chosen]
    if site is None and others:
        shown = f"sweeps on {chosen}, the site of the latest sweep"
        notice = f"{shown}; for those on {', '.join(others)}: --filter-site NAME"
        err.print(notice, soft_wrap=True, markup=False)
    return [head for head in found if head.site == chosen]


def _limited(found: list[Head], since: datetime.datetime | None, last: int | None) -> list[Head]:
    """Return the sweeps since a time, at most the last ones. Raises UserError if none is left."""
    begin = since.isoformat() if since else ""
    recent = [head for head in found if head.started_at >= begin]
    if not recent:
        hint = f"the latest started at {found[-1].started_at}"
        raise UserError(f"no sweep found since {begin}", where="--since", hint=hint)
    return recent[-last:] if last else recent


def _print_left_out(left_out: Mapping[str, str], damaged: list[str]) -> None:
    for sweep, reason in list(left_out.items())[:MOST_NAMED]:
        err.print(f"left out: {sweep}: {reason}", soft_wrap=True, markup=False)
    if len(left_out) > MOST_NAMED:
        err.print(f"and {plural(len(left_out) - MOST_NAMED, 'more sweep')} that could not be read")
    if damaged:
        err.print(f"left out: {plural(len(damaged), 'damaged line')}, e.g. {damaged[0]}", soft_wrap=True, markup=False)


def _history(past: Past, chosen: list[Head], quantity: Quantity, *, intervals: bool) -> History:
    found = case_histories(points(past.rows, quantity, intervals=intervals))
    cases = repetition_table([past.latest[each.case] for each in found]).sort_values("case_index", kind="stable")
    order = {case: place for place, case in enumerate(cases["case"])}
    found.sort(key=lambda each: order[each.case])
    quantity = as_reported(quantity, cases)
    shown = telling_apart(cases, identifying_columns(cases))
    first = chosen[0]
    read = dict.fromkeys(row["sweep"] for row in past.rows)
    moved = _shifts(found, quantity, {head.paths.name: head for head in chosen})
    return History(first.experiment, first.site, list(read), quantity, found, moved, cases, shown)


def _shifts(found: list[CaseHistory], quantity: Quantity, sweeps: Mapping[str, Head]) -> list[Shift]:
    """Return the changes, the latest first."""
    around = {
        each.compared[place].sweep
        for each in found
        for change in each.changes
        for place in (change.place - 1, change.place)
    }
    versions = {name: drivers(sweeps[name].paths) for name in around}
    made = [shift for each in found for shift in shifts(each, quantity, versions)]
    return sorted(made, key=lambda shift: shift.after.started_at, reverse=True)
