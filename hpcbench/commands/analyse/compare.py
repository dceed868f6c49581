"""hpcbench compare: whether one sweep is faster or slower than another, case by case."""

from __future__ import annotations

import click
import pandas as pd

from hpcbench.analysis.stats.equivalence import CANNOT_TELL, FASTER, MARGIN, SLOWER
from hpcbench.analysis.studies import comparison as words
from hpcbench.analysis.studies.comparison import compare as compare_sweeps
from hpcbench.collect.table import identifying_columns, metric_columns, repetition_table
from hpcbench.commands.shared.context import (
    archives_of_anybody,
    json_option,
    open_sweep,
    print_written,
    sweep_argument,
    workspace_of,
)
from hpcbench.errors import UserError
from hpcbench.report.export.atomic_files import write_text
from hpcbench.report.export.comparison_json import comparison_json
from hpcbench.report.export.junit import junit
from hpcbench.report.load.metrics import quantities_of
from hpcbench.report.load.records import latest_records
from hpcbench.report.terminal.comparison import print_comparison
from hpcbench.util.console import err, out
from hpcbench.util.gc_pause import without_garbage_collection

FAILING = {
    "slower": (SLOWER, words.WORSE),
    "cannot-tell": (CANNOT_TELL,),
    "missing": (words.MISSING,),
    "not-compared": (words.NOT_COMPARED,),
    "faster": (FASTER, words.BETTER),
}

EPILOG = """\b
Examples:
  hpcbench compare main latest                               what changed since the sweep `main`
  hpcbench compare main latest --margin 2%                   differences up to 2 % count as equal
  hpcbench compare main latest --fail-on slower --fail-on missing --junit compare.xml
  hpcbench compare main latest --json | jq .verdicts

A verdict of faster or slower requires at least five repetitions of the case in each sweep.

Exit status: 0 success; 1 a case has a verdict of --fail-on, or no case could be compared; 2 usage error.
"""


def _part(context: click.Context, parameter: click.Parameter, value: str) -> float:
    """Return 0.02 for `2%` and for `0.02`."""
    try:
        number = float(value.rstrip("% "))
    except ValueError:
        raise click.BadParameter(f"'{value}' is not a number; give 2% or 0.02") from None
    part = number / 100 if "%" in value else number
    if not 0 <= part < 1:
        raise click.BadParameter(f"'{value}' is not between 0 and 100 %; give 2% or 0.02")
    return part


@click.command("compare", epilog=EPILOG)
@sweep_argument("base")
@sweep_argument("new")
@click.option(
    "--margin",
    metavar="PERCENT",
    callback=_part,
    default=f"{MARGIN:.0%}",
    show_default=True,
    help="Largest difference that counts as equal, e.g. 2% or 0.02.",
)
@click.option(
    "--fail-on",
    type=click.Choice(list(FAILING)),
    multiple=True,
    help="Exit with status 1 if a case has this verdict; may be repeated. missing: BASE has the case, NEW does not.",
)
@click.option("--top", type=click.IntRange(min=1), default=40, show_default=True, help="Print at most this many rows.")
@click.option("--junit", "junit_file", metavar="FILE", help="Write JUnit XML to FILE, or to stdout for -.")
@json_option()
@click.pass_context
@without_garbage_collection()
@archives_of_anybody()
def compare_command(
    context: click.Context,
    base: str,
    new: str,
    margin: float,
    fail_on: tuple[str, ...],
    top: int,
    junit_file: str | None,
    json_file: str | None,
) -> int:
    """Compare each case of NEW with the same case of BASE: faster, slower, same, or cannot tell."""
    if junit_file == json_file == "-":
        raise UserError("--junit - cannot be used with --json -", hint="write one of them to a file")
    workspace = workspace_of(context)
    old, now = (open_sweep(context, workspace, name) for name in (base, new))
    if old.name == now.name and old.archive == now.archive:
        raise UserError(
            f"BASE and NEW are the same sweep, {old.name}", where="BASE NEW", hint="name two different sweeps"
        )
    records = latest_records(old), latest_records(now)
    tables = repetition_table(records[0]), repetition_table(records[1])
    metrics = quantities_of(metric_columns([*records[0], *records[1]]))
    describing = identifying_columns(pd.concat(tables))
    found = compare_sweeps(*tables, margin, metrics.values(), ["experiment", *describing])
    failing = {word for name in fail_on for word in FAILING[name]}
    if "-" not in (junit_file, json_file):
        print_comparison(found, describing, metrics, top, out)
    if junit_file:
        write_text(junit(found, describing, metrics, failing | {SLOWER, words.WORSE}), junit_file)
    if json_file:
        write_text(comparison_json(found), json_file)
    print_written(f"{len(found.rows)} comparisons", junit_file, json_file)
    if not found.compared:
        err.print("no case could be compared")
    return int(not found.compared or bool(failing & set(found.rows["verdict"])))
