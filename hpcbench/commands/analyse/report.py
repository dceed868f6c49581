"""hpcbench report: the results of one or more sweeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pandas as pd

from hpcbench.analysis.cases.bootstrap_replicates import Key
from hpcbench.analysis.cases.latency import with_latency
from hpcbench.analysis.cases.quantities import QUANTITIES, THROUGHPUT, short_column
from hpcbench.analysis.cases.user_workload import USER_WORKLOAD
from hpcbench.analysis.results import Results
from hpcbench.analysis.studies.reporting_rules import Evidence, not_applicable
from hpcbench.analysis.studies.rule_checks import check
from hpcbench.collect.resource_usage import used
from hpcbench.collect.sweep_output import found_in_sweep
from hpcbench.collect.table import sample_table
from hpcbench.commands.shared.context import archives_of_anybody, not_empty, open_sweep, sweep_argument, workspace_of
from hpcbench.commands.shared.figure_options import figure_options, formats_of, write_figures
from hpcbench.core import status
from hpcbench.core.record import Record
from hpcbench.core.samples import SAMPLES
from hpcbench.errors import UserError, nearest
from hpcbench.report.export import csv_parquet
from hpcbench.report.export.atomic_files import write_text
from hpcbench.report.load.found_metrics import with_found_metric
from hpcbench.report.load.records import records_of, surveyed
from hpcbench.report.load.results import results_of
from hpcbench.report.load.tuning_results import TuningSummary, default_of_search, searches, tuning_summaries
from hpcbench.report.terminal.found_metrics import print_found
from hpcbench.report.terminal.reporting_rules import print_rules, print_violations
from hpcbench.report.terminal.results import print_insights, print_report
from hpcbench.report.terminal.threads import print_threads
from hpcbench.report.terminal.usage import use_in_words
from hpcbench.report.text.insights import insights
from hpcbench.status.fails_again import failing_again, waiting_in_vain
from hpcbench.status.progress import Progress
from hpcbench.store.workspace import Workspace
from hpcbench.util.console import err, out
from hpcbench.util.gc_pause import without_garbage_collection
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from hpcbench.report.charts.components import Figure

EPILOG = """\b
Examples:
  hpcbench report                                   the latest sweep, best first
  hpcbench report --html results.html               a self-contained page with figures
  hpcbench report --csv results.csv                 one row per case
  hpcbench report --csv - --level sample            every sample, to stdout
  hpcbench report --metric p99                      by tail latency
  hpcbench report --figures plots --format pdf --theme paper
  hpcbench report --figures plots --plot x=nodes,y=throughput,color=framework,facet=model
  hpcbench report --tables latex > results.tex      for a paper, with booktabs
  hpcbench report lstm.tar.gz                       an archive, on any machine
  hpcbench report base new --base intra_op_threads=1,inter_op_threads=1

Exit status: 0 success; 1 a case did not complete, or lacks a metric; 2 usage error.
"""


@click.command("report", epilog=EPILOG)
@sweep_argument(nargs=-1)
@click.option(
    "--metric",
    metavar="NAME",
    help=f"Rank by this metric: {', '.join(map(short_column, QUANTITIES))}, a metric of commands, or a number found in "
    "their output, with :higher or :lower if its better direction is unknown.  "
    f"[default: {short_column(THROUGHPUT.column)}; for commands, their "
    "first metric with a known better direction, otherwise time]",
)
@click.option("--base", metavar="CASE", help="Compute speedups over this case: an ID, or KEY=VALUE[,KEY=VALUE...].")
@click.option(
    "--same-workload",
    metavar="PARAMETER",
    multiple=True,
    help="Rank commands that differ in this user parameter together; may be repeated.",
)
@click.option(
    "--level",
    type=click.Choice(["case", "repetition", "sample"]),
    default="case",
    show_default=True,
    help="Write a row for each of these to --csv and --parquet.",
)
@click.option("--top", type=click.IntRange(min=1), default=40, show_default=True, help="Print at most this many rows.")
@click.option(
    "--rules",
    "all_rules",
    is_flag=True,
    help="Show for each rule of performance reporting whether the report follows it.",
)
@click.option("--csv", "csv_file", metavar="FILE", callback=not_empty, help="Write CSV to FILE, or to stdout for -.")
@click.option("--parquet", "parquet_file", metavar="FILE", callback=not_empty, help="Write Parquet to FILE.")
@click.option(
    "--html",
    "html_file",
    metavar="FILE",
    callback=not_empty,
    help="Write a self-contained page with summary, figures and table to FILE, or to stdout for -.",
)
@figure_options
@click.option(
    "--plot",
    metavar="x=COLUMN,...",
    help="Draw this figure instead of the default ones; x=, y=, color= and facet= name columns.",
)
@click.option(
    "--tables",
    "tables_for",
    type=click.Choice(["latex", "markdown"]),
    help="Print the rankings as tables in this format.",
)
@click.pass_context
@without_garbage_collection()
@archives_of_anybody()
def report_command(
    context: click.Context,
    sweep: tuple[str, ...],
    metric: str | None,
    base: str | None,
    level: str,
    top: int,
    all_rules: bool,
    csv_file: str | None,
    parquet_file: str | None,
    html_file: str | None,
    figures: str | None,
    formats: str,
    theme: str,
    plot: str | None,
    tables_for: str | None,
    same_workload: tuple[str, ...],
) -> int:
    """Print the cases of SWEEP, best first, with 95 % confidence intervals. Several sweeps are reported together.

    SWEEP may also be a file written by `hpcbench archive`.
    """
    wanted = formats_of(context, figures, formats)
    to_stdout = _to_stdout(csv_file, html_file, tables_for)
    _check_options(level, parquet_file, bool(csv_file or parquet_file), plot, bool(figures or html_file))
    if all_rules and to_stdout:
        raise UserError(f"--rules cannot be used with {to_stdout[0]}", hint="use one of them")
    workspace = workspace_of(context)
    found = [open_sweep(context, workspace, name) for name in dict.fromkeys(sweep or ("latest",))]
    _check_different([paths.name for paths in found])
    progresses = [surveyed(paths) for paths in found]
    records: list[Record] = [record for progress in progresses for record in records_of(progress)]
    if not any(record.status in status.STATUSES for record in records):
        err.print("no records found; see: hpcbench status")
        return 1
    records = with_found_metric(metric, found, records)
    results = _results(progresses, records, metric, base, same_workload)
    searched = list(tuning_summaries(progresses))
    if tables_for:
        _print_tables(results, tables_for, top)
    elif not to_stdout:
        _print_report(results, searched, progresses, top, all_rules)
        _print_found(progresses, records)
    _write_tables(results, level, csv_file, parquet_file)
    drawn = _figures(results, plot, progresses, workspace) if figures or html_file else []
    if figures:
        write_figures(drawn, figures, wanted, theme, "figures require at least two measured cases")
    if html_file:
        _write_page(results, drawn, progresses, searched, html_file)
    return int(len(results.failed) + len(results.lacking) > 0)


def _print_report(
    results: Results, searched: list[TuningSummary], progresses: list[Progress], top: int, all_rules: bool
) -> None:
    archives = [progress.sweep.paths.archive for progress in progresses]
    out.print(_heading(results.repetitions, archives), markup=False, soft_wrap=True)
    _print_searched(searched)
    print_report(results, top, out, answered=bool(searched))
    print_threads(results, top, out)
    print_insights(insights(results), out)
    for progress in progresses:
        out.print(use_in_words(used(progress)), markup=False, soft_wrap=True)
    _print_rules(Evidence(results), all_rules=all_rules)


def _print_found(progresses: list[Progress], records: list[Record]) -> None:
    """Print the metrics in the output of each sweep that its experiment does not define."""
    for progress in progresses:
        paths = progress.sweep.paths
        print_found(found_in_sweep(paths, [record for record in records if record.sweep == paths.name]), out)


def _results(
    progresses: list[Progress],
    records: list[Record],
    metric: str | None,
    base: str | None,
    same_workload: Sequence[str],
) -> Results:
    same = _same_workload(same_workload, records, progresses)
    found = results_of(records, metric, base or default_of_search(progresses), searches(progresses), same)
    return replace(found, fails_again=_failing_again(progresses))


def _same_workload(asked: Sequence[str], records: list[Record], progresses: list[Progress]) -> set[str]:
    """Return the user parameters that do not change the workload of commands, by option and by the experiments.

    Raise UserError if no record has a parameter given as option.
    """
    known = {name for record in records for name in record.user_parameters}
    for name in asked:
        if name not in known:
            raise UserError(f"unknown user parameter '{name}'", where="--same-workload", hint=nearest(name, known))
    experiments = [progress.sweep.description["experiment"] for progress in progresses]
    return {*asked, *(name for experiment in experiments for name in experiment.get("same_workload", ()))}


def _failing_again(progresses: list[Progress]) -> frozenset[Key]:
    """Return the cases with a run that would fail again, or that Slurm will not start."""
    return frozenset(
        (progress.sweep.paths.name, run.planned.case_id)
        for progress in progresses
        for run in [*failing_again(progress), *waiting_in_vain(progress)]
    )


def _check_options(level: str, parquet_file: str | None, tables: bool, plot: str | None, charts: bool) -> None:
    """Raise UserError for options that lack another one; `tables` and `charts` say whether these are written."""
    if parquet_file == "-":
        raise UserError("--parquet cannot write to stdout", hint="name a file")
    if level != "case" and not tables:
        raise UserError(f"--level {level} requires --csv or --parquet", hint="add --csv - or --csv FILE")
    if plot and not charts:
        raise UserError("--plot requires --figures or --html", hint="add --figures DIR or --html FILE")


def _to_stdout(csv_file: str | None, html_file: str | None, tables_for: str | None) -> list[str]:
    """Return the option that replaces the report on stdout. Raise UserError for several of them."""
    asked = {"--csv -": csv_file == "-", "--html -": html_file == "-", f"--tables {tables_for}": bool(tables_for)}
    found = [option for option, is_asked in asked.items() if is_asked]
    if len(found) > 1:
        raise UserError(f"{found[0]} cannot be used with {found[1]}", hint="use one of them, or write to files")
    return found


def _print_searched(searched: list[TuningSummary]) -> None:
    """Print what searches found; their best need not be the best of all measurements, which include brief ones."""
    for summary in searched:
        for line in (summary.title or summary.headline, *summary.lines):
            out.print(line, markup=False, soft_wrap=True)
    if searched:
        out.print("All measurements of the search, including brief ones:")


def _print_rules(evidence: Evidence, *, all_rules: bool) -> None:
    if all_rules:
        print_rules(check(evidence), not_applicable(evidence), out)
    else:
        print_violations(check(evidence), out)


def _print_tables(results: Results, kind: str, top: int) -> None:
    from hpcbench.report.export.latex_markdown import FORMATS as KINDS

    write_text(KINDS[kind](results, top), "-")
    if not results.workloads:
        _print_note("no case was measured")


def _write_tables(results: Results, level: str, csv_file: str | None, parquet_file: str | None) -> None:
    if not (csv_file or parquet_file):
        return
    frames: dict[str, Callable[[], pd.DataFrame]] = {
        "case": lambda: results.cases.drop(columns=["case_index", USER_WORKLOAD]),
        "repetition": lambda: with_latency(results.repetitions).drop(columns=[SAMPLES, "case_index"]),
        "sample": lambda: sample_table(results.repetitions),
    }
    frame = frames[level]()
    if csv_file:
        csv_parquet.write_csv(frame, csv_file)
    if parquet_file:
        csv_parquet.write_parquet(frame, parquet_file)
    for file in (csv_file, parquet_file):
        if file and file != "-":
            _print_note(f"wrote {plural(len(frame), 'row')} to {file}")


def _figures(results: Results, plot: str | None, progresses: list[Progress], workspace: Workspace) -> list[Figure]:
    from hpcbench.report.charts.figures import chosen
    from hpcbench.report.charts.resources import figures_of_resources
    from hpcbench.report.load.case_details import observe

    found = chosen(results, plot)
    return found if plot else [*found, *figures_of_resources(results, observe(workspace, progresses, results))]


def _write_page(
    results: Results, figures: list[Figure], progresses: list[Progress], searched: list[TuningSummary], file: str
) -> None:
    from hpcbench.report.html.write_page import write_page

    write_page(results, figures, progresses, searched, file)
    if file != "-":
        _print_note(f"wrote {file}")


def _print_note(words: str) -> None:
    err.print(words, soft_wrap=True, markup=False)


def _check_different(names: list[str]) -> None:
    """Raises UserError if two sweeps have the same name, e.g. one in an archive: tables identify them by name."""
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        hint = "report each separately, or compare them: hpcbench compare BASE NEW"
        raise UserError(f"two sweeps have the name {twice[0]}", where="SWEEP...", hint=hint)


def _heading(repetitions: pd.DataFrame, archives: list[Path | None]) -> str:
    """Return the names of the sweeps with their machines, and with archives that they were read from."""
    sweeps = ", ".join(
        f"{sweep} on {site}" for sweep, site in repetitions.groupby("sweep", sort=False)["site"].first().items()
    )
    processors = "; ".join(repetitions["cpu_model"].dropna().unique())
    files = ", ".join(str(file) for file in archives if file)
    heading = f"{sweeps} ({processors})" if processors else sweeps
    return f"{heading}, from the archive {files}" if files else heading
