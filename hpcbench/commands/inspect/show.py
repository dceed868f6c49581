"""hpcbench show: one case of a sweep in detail."""

from __future__ import annotations

from dataclasses import replace

import click

from hpcbench.analysis.cases.labels import label, telling_apart
from hpcbench.collect.table import identifying_columns
from hpcbench.commands.options.case_argument import sweep_and_case, sweep_and_case_argument
from hpcbench.commands.options.outputs import json_option
from hpcbench.commands.shared.context import archives_of_anybody
from hpcbench.errors import UserError
from hpcbench.report.export.atomic_files import write_text
from hpcbench.report.export.case_json import case_json
from hpcbench.report.load.find_case import any_of, row_of_case
from hpcbench.report.load.records import cases_of, records_of, surveyed
from hpcbench.report.terminal.case.printing import print_case
from hpcbench.report.terminal.case.view import CaseView
from hpcbench.status.progress import Progress
from hpcbench.util.console import out
from hpcbench.util.exit_status import exit_statuses
from hpcbench.util.gc_pause import without_garbage_collection
from hpcbench.util.text import plural

LINES = 10

EPILOG = """\b
Examples:
  hpcbench show c1a2b3c4d5e6                    a case of the latest sweep, by its ID or a unique prefix
  hpcbench show intra_op_threads=2 nodes=1      by its parameters, as `hpcbench report` shows them
  hpcbench show lstm batch_size=64,nodes=2 --lines 40
  hpcbench show lstm.tar.gz c1a2                from an archive
  hpcbench show c1a2 --json | jq '.runs[].record.measurements.times_s'
""" + exit_statuses("the case did not complete, or lacks a metric")


@click.command("show", epilog=EPILOG)
@sweep_and_case_argument()
@click.option(
    "--lines",
    type=click.IntRange(min=0),
    default=LINES,
    show_default=True,
    help="Print the last N lines of the log.",
)
@json_option("Print JSON, with the records of all attempts.")
@click.pass_context
@without_garbage_collection()
@archives_of_anybody()
def show_command(context: click.Context, words: tuple[str, ...], lines: int, as_json: bool) -> int:
    """Show CASE: parameters, results, measurements, interference, machine, script and log.

    CASE is an ID, a unique prefix of one, or KEY=VALUE of parameters that identify one case. It may be omitted if the
    sweep has one case.

    SWEEP is a name, `latest`, the name of an experiment, a unique prefix, or an archive.  [default: latest] A single
    word without = is read as SWEEP if a sweep has this name, otherwise as CASE.
    """
    named = sweep_and_case(context, words)
    view = _view(surveyed(named.paths), named.case, named.where)
    if as_json:
        write_text(case_json(view), "-")
    else:
        print_case(view, lines, out)
    return int(not view.completed)


def _view(progress: Progress, words: str, where: str) -> CaseView:
    """Return the case with these words. Raises UserError unless they identify exactly one."""
    cases = cases_of(progress)
    if not words and len(cases) > 1:
        raise UserError(f"missing argument CASE: the sweep has {plural(len(cases), 'case')}", hint=any_of(cases))
    row = cases.iloc[row_of_case(cases, words, where)]
    runs = [run for run in progress.runs if run.planned.case_id == row["case"]]
    alone = replace(progress, runs=tuple(sorted(runs, key=lambda run: run.planned.run)))
    return CaseView(alone, records_of(alone), label(row, telling_apart(cases, identifying_columns(cases))))
