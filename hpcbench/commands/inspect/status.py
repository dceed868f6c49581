"""hpcbench status: the runs of a sweep by state, with reasons and failures; once, or until the sweep has ended."""

from __future__ import annotations

import datetime
import json

import click
from rich.markup import escape

from hpcbench.commands.options.outputs import json_option
from hpcbench.commands.shared.context import load_sweep, sweep_argument
from hpcbench.commands.shared.displays import JsonLines, display_on
from hpcbench.commands.shared.watch import is_under_way
from hpcbench.commands.shared.watch import watch as watch_sweep
from hpcbench.errors import UserError
from hpcbench.report.export.status_json import as_json as progress_as_json
from hpcbench.report.terminal.status import counted, expected_in_words, follow_on_in_words, tried_again_in_words
from hpcbench.report.terminal.status_groups import lines
from hpcbench.status.fails_again import how_to_continue
from hpcbench.status.progress import Progress
from hpcbench.status.query import or_records, query
from hpcbench.status.tuning_state import search_state
from hpcbench.store.sweep import Sweep
from hpcbench.util.console import out, print_warning
from hpcbench.util.exit_status import exit_statuses
from hpcbench.util.gc_pause import without_garbage_collection

EPILOG = """\b
Examples:
  hpcbench status                  the latest sweep
  hpcbench status lstm --json      for programs: every run, axes, reasons, failures
  hpcbench status --watch          a live view until all jobs have ended
  hpcbench status --watch | tee log           one line per change and failure
  hpcbench status --watch --json   one line of JSON per change
""" + exit_statuses("a run did not complete or lacks a metric, or a search has no result (with --watch)")


@click.command("status", epilog=EPILOG)
@sweep_argument(default="latest")
@json_option()
@click.option(
    "-w", "--watch", is_flag=True, help="Show progress until every job has ended; Ctrl-C closes only the view."
)
@click.pass_context
def status_command(context: click.Context, sweep: str, as_json: bool, watch: bool) -> int:
    """Count cases and runs by state, with a line for each state and reason.

    --watch also shows the counts by value of each axis, the nodes in use, the expected end and each new failure. It
    queries Slurm every 2 to 10 seconds while states change, and every minute otherwise.

    Without --watch, the command writes nothing. With --watch, it saves the outcome of runs that left no record, as
    `resume` does.
    """
    found = load_sweep(context, sweep)
    if watch:
        return watch_sweep(found, JsonLines() if as_json else display_on(out))
    with without_garbage_collection():  # until the records are gone: the search for cycles would examine them
        _print_once(found, as_json)
    return 0


def _print_once(found: Sweep, as_json: bool) -> None:
    progress = or_records(query, found)
    for warning in progress.warnings:
        print_warning(warning)
    now = datetime.datetime.now().astimezone()
    if as_json:
        search = {"search": _search(found)} if found.tuning else {}
        click.echo(json.dumps({**progress_as_json(progress, now), **search}, indent=1))
    else:
        _print(progress, now)


def _next(progress: Progress) -> str:
    """Return the command that continues a sweep if none of its runs is active, or an empty text."""
    if not progress.slurm_responded or is_under_way(progress, 0.0):
        return ""
    return how_to_continue(progress)


def _search(sweep: Sweep) -> str:
    """Return the state of a search in words; if Slurm does not respond, the reason."""
    try:
        return search_state(sweep).words
    except UserError as error:
        return f"unknown: {error.what}"


def _print(progress: Progress, now: datetime.datetime) -> None:
    site = escape(str(progress.sweep.description["site"]["name"]))
    out.print(f"[bold]{progress.sweep.paths.name}[/bold] on {site}")
    shown = {
        "cases": counted(progress.case_counts()),
        "runs": counted(progress.counts()),
        "retried": tried_again_in_words(progress),
        "expected end": expected_in_words(progress, now),
        "continuation": follow_on_in_words(progress),
        "search": _search(progress.sweep) if progress.sweep.tuning else "",
        "next": "" if progress.sweep.tuning else _next(progress),
    }
    for name, words in shown.items():
        if words:
            out.print(f"  {name + ':':13} {words}", soft_wrap=True)
    for line in lines(progress):
        out.print(line, soft_wrap=True)
