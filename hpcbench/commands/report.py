"""hpcbench report: the results of one or more sweeps."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click
import pandas as pd

from hpcbench.analysis import cost
from hpcbench.analysis.latency import with_latency
from hpcbench.analysis.pareto import pareto
from hpcbench.analysis.rules import Evidence, check
from hpcbench.analysis.summary import add_speedup, case_table, ranked
from hpcbench.collect.occupied import used
from hpcbench.collect.table import (
    MetricColumn,
    metric_columns,
    repetition_table,
    sample_table,
)
from hpcbench.commands.common import err, open_sweep, out, sweep_argument, workspace_of
from hpcbench.commands.reading import archives_of_anybody, candidates, results_of
from hpcbench.config.parameters import TAG
from hpcbench.errors import UserError, nearest
from hpcbench.garbage import without_garbage_collection
from hpcbench.node import outcomes
from hpcbench.node.sampling import SAMPLES
from hpcbench.report import tables, terminal
from hpcbench.report.findings import print_findings, print_rules
from hpcbench.report.use import use_in_words

ITEMS = "throughput_items_per_s"

EPILOG = """\b
Examples:
  hpcbench report                                   the latest sweep, best first
  hpcbench report --csv results.csv                 one row per case
  hpcbench report --csv - --level sample            every sample, to stdout
  hpcbench report --metric time_p99_s               by tail latency
  hpcbench report lstm.tar.gz                       what `hpcbench archive` has made, on any machine
  hpcbench report base new --base intra_op_threads=1,inter_op_threads=1

Exit status: 0 all is well; 1 some case did not complete; 2 a mistake.
"""


@click.command(epilog=EPILOG, short_help="Print the results, best first; write CSV or Parquet.")
@sweep_argument(nargs=-1)
@click.option(
    "--metric",
    metavar="NAME",
    help=f"What to rank by: {', '.join(terminal.METRICS)}, or a metric of commands, with :higher or :lower where it is "
    f"not known which is better.  [default: {ITEMS}; of commands, their first metric]",
)
@click.option("--base", metavar="CASE", help="Base case of the speedup: an id, or KEY=VALUE[,KEY=VALUE...].")
@click.option(
    "--level",
    type=click.Choice(["case", "repetition", "sample"]),
    default="case",
    show_default=True,
    help="What a row of the files stands for.",
)
@click.option("--top", type=click.IntRange(min=1), default=40, show_default=True, help="Rows to print at most.")
@click.option(
    "--rules", "all_rules", is_flag=True, help="Say of each rule for performance reports whether this one keeps it."
)
@click.option("--csv", "csv_file", metavar="FILE", help="Write CSV to FILE, or to stdout for -.")
@click.option("--parquet", "parquet_file", metavar="FILE", help="Write Parquet to FILE.")
@click.pass_context
@without_garbage_collection()
@archives_of_anybody()
def report(
    context: click.Context,
    sweep: tuple[str, ...],
    metric: str | None,
    base: str | None,
    level: str,
    top: int,
    all_rules: bool,
    csv_file: str | None,
    parquet_file: str | None,
) -> int:
    """Print the cases of the named sweeps, best first, with 95 % intervals; several sweeps are reported together.

    SWEEP may also be a file that `hpcbench archive` has made.
    """
    if parquet_file == "-":
        raise UserError("Parquet is no text: name a file", where="--parquet -")
    if level != "case" and not (csv_file or parquet_file):
        raise UserError(
            "it says what the rows of a file are", where=f"--level {level}", hint="add --csv - or --csv FILE"
        )
    workspace = workspace_of(context)
    found = [open_sweep(context, workspace, name) for name in dict.fromkeys(sweep or ("latest",))]
    _check_different([paths.name for paths in found])
    results = [results_of(paths) for paths in found]
    records = [record for result in results for record in result.records]
    if not any(record["status"] in outcomes.STATUSES for record in records):
        err.print("there are no records yet; see: hpcbench status")
        return 1
    repetitions = repetition_table(records)
    cases = cost.add_costs(case_table(repetitions), repetitions)
    cases = cases.assign(**pareto(cases))
    cases = add_speedup(cases, None if base is None else _base_row(cases, base))
    metrics = metric_columns(records)
    column, ascending = _ranking(metric, metrics, cases)
    cases = ranked(cases, column, ascending).drop(columns="case_index")
    frames = {
        "case": lambda: cases,
        "repetition": lambda: with_latency(repetitions).drop(columns=[SAMPLES, "case_index"]),
        "sample": lambda: sample_table(repetitions),
    }
    frame = frames[level]() if csv_file or parquet_file else cases
    if csv_file != "-":
        shown = terminal.telling_apart(cases, candidates(cases))
        label = partial(terminal.label, shown=shown)
        rates = tuple(each.name for each in metrics.values() if each.averages_rates)
        findings = check(Evidence(repetitions, cases, column, base is not None, label, rates))
        out.print(_heading(repetitions, [paths.archive for paths in found]), markup=False, soft_wrap=True)
        terminal.print_report(cases, shown, column, top, out, metrics)
        for result in results:
            out.print(use_in_words(used(result.progress)), markup=False, soft_wrap=True)
        (print_rules if all_rules else print_findings)(findings, out)
    if csv_file:
        tables.write_csv(frame, csv_file)
    if parquet_file:
        tables.write_parquet(frame, parquet_file)
    for file in (csv_file, parquet_file):
        if file and file != "-":
            err.print(f"wrote {len(frame)} rows to {file}", soft_wrap=True, markup=False)
    return int((cases["status"] != outcomes.COMPLETED).any())


def _ranking(asked: str | None, metrics: dict[str, MetricColumn], cases: pd.DataFrame) -> tuple[str, bool]:
    """The column to rank by, and whether less of it is better. Raises UserError for a name that is no such column."""
    if asked is None:
        known = [column for column, metric in metrics.items() if metric.better]
        if not known or cases[ITEMS].notna().any():
            return ITEMS, terminal.METRICS[ITEMS]
        return known[0], metrics[known[0]].better == "lower"
    name, _, way = asked.partition(":")
    if name in terminal.METRICS and way in ("", "lower" if terminal.METRICS[name] else "higher"):
        if name in cost.RANKED and (reason := cost.incomparable(cases, name)):
            raise UserError(f"cases cannot be ranked by {name}: {reason}", where="--metric", hint="see docs/cost.md")
        return name, terminal.METRICS[name]
    found = [column for column, metric in metrics.items() if name in (metric.name, column)]
    if len(found) != 1 or way not in ("", "higher", "lower"):
        known = [*terminal.METRICS, *(found or [metric.name for metric in metrics.values()])]
        hint = f"it could be {', '.join(found)}" if len(found) > 1 else nearest(name, known)
        raise UserError(f"no metric is called '{asked}'", where="--metric", hint=hint)
    better = way or metrics[found[0]].better
    if better is None:
        hint = f"say it: --metric {name}:higher or --metric {name}:lower"
        raise UserError(f"whether more or less of '{name}' is better is not known", where="--metric", hint=hint)
    return found[0], better == "lower"


def _check_different(names: list[str]) -> None:
    """Raises UserError for two sweeps of one name, of which one came in an archive: the table knows them by it."""
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        hint = "report each by itself, or put them side by side: hpcbench compare BASE NEW"
        raise UserError(f"two of these are called {twice[0]}", where="SWEEP...", hint=hint)


def _heading(repetitions: pd.DataFrame, archives: list[Path | None]) -> str:
    """Which sweeps on which machines, and where they were read from if not in this workspace."""
    sweeps = ", ".join(
        f"{sweep} on {site}" for sweep, site in repetitions.groupby("sweep", sort=False)["site"].first().items()
    )
    processors = "; ".join(repetitions["cpu_model"].dropna().unique())
    files = ", ".join(str(file) for file in archives if file)
    heading = f"{sweeps} ({processors})" if processors else sweeps
    return f"{heading}, from the archive {files}" if files else heading


def _base_row(cases: pd.DataFrame, base: str) -> int:
    """The row that --base names. Raises UserError unless it is exactly one measured case."""
    if "=" in base:
        chosen = pd.Series(True, index=cases.index)
        for part in base.split(","):
            name, _, value = part.partition("=")
            if name not in cases and TAG + name in cases:  # as it is printed
                name = TAG + name
            if name not in cases:
                raise UserError(f"no column is called '{name}'", where="--base", hint=nearest(name, cases.columns))
            chosen &= cases[name].astype(str) == value
    else:
        chosen = cases["case"].str.startswith(base)
    rows = cases.index[chosen]
    if len(rows) != 1:
        named = ", ".join(f"sweep={row['sweep']},case={row['case']}" for _, row in cases.loc[rows[:5]].iterrows())
        hint = f"it could be {named}" if named else "the ids are in the column `case` of --csv"
        raise UserError(f"'{base}' names {len(rows)} cases, and a base is one", where="--base", hint=hint)
    if pd.isna(cases.loc[rows[0], "time_median_s"]):
        raise UserError(f"the base case '{base}' was not measured", where="--base")
    return int(rows[0])
