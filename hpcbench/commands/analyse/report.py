"""hpcbench report: the results of one or more sweeps."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache, partial
from typing import TYPE_CHECKING

import click
import pandas as pd

from hpcbench.analysis.cases.latency import with_latency
from hpcbench.analysis.cases.quantities import QUANTITIES, short_column
from hpcbench.analysis.cases.user_workload import USER_WORKLOAD
from hpcbench.analysis.results import Results
from hpcbench.analysis.studies.reporting_rules import Evidence, not_applicable
from hpcbench.analysis.studies.rule_checks import check
from hpcbench.collect.resource_usage import used
from hpcbench.collect.sweep_output import found_in_sweep
from hpcbench.collect.table import sample_table
from hpcbench.commands.analyse.sweeps_to_report import sweeps_to_report
from hpcbench.commands.options.completion import complete_case, complete_metric
from hpcbench.commands.options.extras import require_packages
from hpcbench.commands.options.figure_options import figure_options, formats_of, write_figures
from hpcbench.commands.options.mllog_option import mllog_option, write_mllogs
from hpcbench.commands.options.operators_option import operators_option, write_operators
from hpcbench.commands.options.outputs import (
    STDOUT,
    Output,
    file_option,
    json_option,
    output_option,
    requested,
    write_outputs,
)
from hpcbench.commands.options.published_option import published_option
from hpcbench.commands.shared.context import (
    archives_of_anybody,
    not_empty,
    sweep_argument,
    workspace_of,
)
from hpcbench.commands.shared.report_page import figures_of, has_results, results_of_sweeps
from hpcbench.core.record import Record
from hpcbench.core.samples import SAMPLES
from hpcbench.errors import UserError
from hpcbench.report.export.atomic_files import write_text
from hpcbench.report.export.csv_parquet import write_csv, write_parquet
from hpcbench.report.export.report_json import report_json
from hpcbench.report.export.report_junit import report_junit
from hpcbench.report.load.acceptance import check_measurable
from hpcbench.report.load.metrics import DEFAULT_METRIC
from hpcbench.report.load.printed_units import mixed_units
from hpcbench.report.load.published import Published, with_published
from hpcbench.report.load.rank_by import ranked_by
from hpcbench.report.load.records import records_of
from hpcbench.report.load.tuning_results import TuningSummary, tuning_summaries
from hpcbench.report.terminal.found_metrics import print_found
from hpcbench.report.terminal.operators import print_operators
from hpcbench.report.terminal.reporting_rules import print_rules, print_violations
from hpcbench.report.terminal.results import print_insights, print_report
from hpcbench.report.terminal.threads import print_threads
from hpcbench.report.terminal.usage import use_in_words
from hpcbench.report.text.heading import heading
from hpcbench.report.text.insights import insights
from hpcbench.status.progress import Progress
from hpcbench.util.console import err, out, print_warnings
from hpcbench.util.exit_status import FAILURE, SUCCESS, exit_statuses
from hpcbench.util.gc_pause import without_garbage_collection
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from hpcbench.report.charts.components import Figure

FORMATS = ("json", "csv", "parquet", "html", "md", "tex")
TABLES = {"md": "markdown", "tex": "latex"}

EPILOG = """\b
Examples:
  hpcbench report                                   the latest sweep, best first
  hpcbench report --html results.html               a self-contained page with figures
  hpcbench report --csv - --level measurement       every measurement, to stdout
  hpcbench report --json | jq '.best_cases[].text'  for programs
  hpcbench report --metric p99                      by tail latency
  hpcbench report --figures plots --plot x=nodes,y=throughput,color=framework,facet=model
  hpcbench report --tables latex > results.tex      for a paper, with booktabs
  hpcbench report base new --baseline-case intra_op_threads=1,inter_op_threads=1
""" + exit_statuses("a case did not complete, lacks a metric, or is not accepted")


@click.command("report", epilog=EPILOG)
@sweep_argument(nargs=-1)
@click.option(
    "--metric",
    metavar="NAME",
    shell_complete=complete_metric,
    help=f"Rank by this metric: {', '.join(map(short_column, QUANTITIES))}, a metric of commands, or a number found in "
    f"their output, with :higher or :lower if its better direction is unknown.  {DEFAULT_METRIC}",
)
@click.option(
    "--baseline-case",
    metavar="CASE",
    shell_complete=complete_case,
    help="Compute speedups over this case: an ID, or KEY=VALUE[,KEY=VALUE...].",
)
@click.option(
    "--same-workload",
    metavar="PARAMETER",
    multiple=True,
    help="Rank cases that differ in this user parameter together; may be repeated.",
)
@published_option()
@click.option(
    "--level",
    type=click.Choice(["case", "run", "measurement"]),
    default="case",
    show_default=True,
    help="Write one row per case, run or measurement to --csv and --parquet.",
)
@click.option("--top", type=click.IntRange(min=1), default=40, show_default=True, help="Print at most N rows.")
@click.option(
    "--rules",
    "all_rules",
    is_flag=True,
    help="Show for each rule of performance reporting whether the report follows it.",
)
@json_option()
@file_option("csv", "CSV")
@click.option("--parquet", "parquet_file", metavar="FILE", callback=not_empty, help="Write Parquet to FILE.")
@file_option("html", "a self-contained page with summary, figures and table")
@file_option("junit", "JUnit XML")
@output_option(*FORMATS)
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
@mllog_option()
@operators_option()
@click.pass_context
@without_garbage_collection()
@archives_of_anybody()
def report_command(
    context: click.Context,
    sweep: tuple[str, ...],
    metric: str | None,
    baseline_case: str | None,
    published: Published | None,
    level: str,
    top: int,
    all_rules: bool,
    as_json: bool,
    csv_file: str | None,
    parquet_file: str | None,
    html_file: str | None,
    junit_file: str | None,
    outputs: tuple[tuple[str, str], ...],
    figures: str | None,
    formats: str,
    theme: str,
    plot: str | None,
    tables_for: str | None,
    mllog: str | None,
    operators_file: str | None,
    same_workload: tuple[str, ...],
) -> int:
    """Print the cases of SWEEP, best first, with 95 % confidence intervals. Several sweeps are reported together.

    SWEEP may also be a file written by `hpcbench archive`.
    """
    wanted = formats_of(context, figures, formats)
    flags = {"json": as_json, **({f"tables {tables_for}": True} if tables_for else {})}
    files = {"csv": csv_file, "parquet": parquet_file, "html": html_file, "junit": junit_file}
    asked = requested(flags, files, outputs, figures)
    _check_options(asked, level, plot, bool(figures), all_rules)
    require_packages(asked, figures)
    workspace = workspace_of(context)
    progresses = sweeps_to_report(context, workspace, sweep, exports_operators=operators_file is not None)
    records = [record for progress in progresses for record in records_of(progress)]
    if not has_results(records):
        err.print("no records found; see: hpcbench status")
        return FAILURE
    metric, records = ranked_by(metric, [progress.sweep for progress in progresses], records)
    print_warnings(mixed_units(records))
    results = with_published(results_of_sweeps(progresses, records, metric, baseline_case, same_workload), published)
    searched = list(tuning_summaries(progresses))
    if not any(output.is_stdout for output in asked):
        _print(results, progresses, records, searched, top, all_rules=all_rules)
    draws = figures or any(output.format == "html" for output in asked)
    drawn = figures_of(results, plot, progresses, workspace) if draws else []
    if figures:
        write_figures(drawn, figures, wanted, theme, "at least two measured cases are required")
    _write(asked, results, progresses, searched, drawn, level, top)
    write_operators(results, operators_file)
    write_mllogs(records, mllog)
    check_measurable(results)
    return SUCCESS if results.succeeded else FAILURE


def _print(
    results: Results,
    progresses: list[Progress],
    records: list[Record],
    searched: list[TuningSummary],
    top: int,
    *,
    all_rules: bool,
) -> None:
    archives = [each.sweep.paths.archive for each in progresses]
    out.print(heading(results.repetitions, archives), markup=False, soft_wrap=True)
    _print_searched(searched)
    print_report(results, top, out, answered=bool(searched))
    print_threads(results, top, out)
    print_operators(results, out)
    print_insights(insights(results), out)
    for progress in progresses:
        out.print(use_in_words(used(progress)), markup=False, soft_wrap=True)
    _print_rules(Evidence(results), all_rules=all_rules)
    _print_found(progresses, records)


def _print_found(progresses: list[Progress], records: list[Record]) -> None:
    """Print the metrics in the output of each sweep that its experiment does not define."""
    for progress in progresses:
        paths = progress.sweep.paths
        print_found(found_in_sweep(paths, [record for record in records if record.sweep == paths.name]), out)


def _check_options(asked: Collection[Output], level: str, plot: str | None, draws: bool, all_rules: bool) -> None:
    """Raise UserError for options that lack another one, or exclude it; `draws` is whether figures are written."""
    formats = {output.format for output in asked}
    to_stdout = [output.option for output in asked if output.is_stdout]
    if any(output.format == "parquet" and output.is_stdout for output in asked):
        raise UserError("--parquet cannot write to stdout", hint="name a file")
    if level != "case" and not formats & {"csv", "parquet"}:
        raise UserError(f"--level {level} requires --csv or --parquet", hint=f"add --csv {STDOUT} or --csv FILE")
    if plot and not (draws or "html" in formats):
        raise UserError("--plot requires --figures or --html", hint="add --figures DIR or --html FILE")
    if all_rules and to_stdout:
        raise UserError(f"--rules cannot be used with {to_stdout[0]}", hint="use one of them")


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


def _write(
    asked: Collection[Output],
    results: Results,
    progresses: list[Progress],
    searched: list[TuningSummary],
    drawn: list[Figure],
    level: str,
    top: int,
) -> None:
    """Write the requested documents."""

    @cache
    def table() -> pd.DataFrame:
        return _table(results, level)

    def write_page(file: str) -> None:
        from hpcbench.report.html.write_page import write_page

        write_page(results, drawn, progresses, searched, file)

    writers = {
        "json": lambda file: write_text(report_json(results, progresses, searched), file),
        "csv": lambda file: write_csv(table(), file),
        "parquet": lambda file: write_parquet(table(), file),
        "junit": lambda file: write_text(report_junit(results), file),
        "html": write_page,
    }
    for suffix, kind in TABLES.items():
        writers |= dict.fromkeys((suffix, f"tables {kind}"), partial(_write_tables, results, kind, top))
    rows = plural(len(table()), "row") if any(output.format in ("csv", "parquet") for output in asked) else ""
    write_outputs(asked, writers, {"csv": rows, "parquet": rows})


def _write_tables(results: Results, kind: str, top: int, file: str) -> None:
    from hpcbench.report.export.latex_markdown import FORMATS as KINDS

    write_text(KINDS[kind](results, top), file)
    if not results.workloads:
        err.print("no case was measured")


def _table(results: Results, level: str) -> pd.DataFrame:
    """Return the table with a row per case, run or measurement."""
    if level == "measurement":
        return sample_table(results.repetitions)
    if level == "run":
        return with_latency(results.repetitions).drop(columns=[SAMPLES, "case_index"])
    return results.cases.drop(columns=["case_index", USER_WORKLOAD])
