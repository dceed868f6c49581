"""hpcbench archive: one file of a sweep."""

from __future__ import annotations

import time
from pathlib import Path

import click
from rich import filesize
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from hpcbench.archive.writing import SUFFIX, Report, Written, write
from hpcbench.collect.survey import survey_or_records
from hpcbench.commands.common import err, plural, sweep_argument, workspace_of
from hpcbench.submit.sweep import load
from hpcbench.workspace import SweepPaths

PATIENCE_S = 2.0  # what is done sooner needs no progress bar
REDRAW_S = 0.2
MOST_NAMED = 10

EPILOG = """\b
Examples:
  hpcbench archive latest                        SWEEP.tar.gz, in this folder
  hpcbench archive lstm -o ~/results/lstm.tar.gz
  hpcbench report lstm.tar.gz                    on any machine
  hpcbench sweep --from lstm.tar.gz --dry-run    what running it again would do

Exit status: 0 all is well; 2 a mistake; 130 interrupted.
"""


@click.command(epilog=EPILOG, short_help="Make one file of a sweep, to keep or to read elsewhere.")
@sweep_argument()
@click.option("-o", "--output", metavar="FILE", help=f"Write FILE.  [default: SWEEP{SUFFIX}]")
@click.pass_context
def archive(context: click.Context, sweep: str, output: str | None) -> int:
    """Make one file of SWEEP: its scripts, logs and records, what it was made from, and what it ran on.

    `report`, `show`, `compare` and `sweep --from` read it. A file that exists is never replaced.
    """
    paths = workspace_of(context).find(sweep)
    file = Path(output or f"{paths.name}{SUFFIX}")
    _warn_of_what_is_left(paths)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=err, transient=True, auto_refresh=False, disable=not err.is_terminal) as bar:
        written = write(paths, file, _shown_after_a_while(bar))
    _tell(written)
    return 0


def _warn_of_what_is_left(paths: SweepPaths) -> None:
    progress = survey_or_records(load(paths))
    for warning in progress.warnings:
        err.print(f"[yellow]warning:[/yellow] {escape(warning)}", soft_wrap=True)
    if all(run.ended for run in progress.runs):
        return
    left = ", ".join(f"{count} {state}" for state, count in progress.counts().items())
    told = f"the sweep has not ended ({left}): what comes later will not be in the file"
    err.print(f"[yellow]warning:[/yellow] {escape(told)}", soft_wrap=True)


def _shown_after_a_while(bar: Progress) -> Report:
    """Draws the bar on a terminal, once it has taken so long that somebody may wonder."""
    draw_at = time.monotonic() + PATIENCE_S
    task = bar.add_task("archiving", total=None)

    def report(done: int, files: int) -> None:
        nonlocal draw_at
        if time.monotonic() >= draw_at:
            draw_at = time.monotonic() + REDRAW_S
            bar.update(task, completed=done, total=files)
            bar.refresh()

    return report


def _tell(written: Written) -> None:
    for name in written.left_out[:MOST_NAMED]:
        err.print(f"left out, since it is no plain file: {name}", soft_wrap=True, markup=False)
    if len(written.left_out) > MOST_NAMED:
        err.print(f"and {len(written.left_out) - MOST_NAMED} more")
    size = filesize.decimal(written.size_bytes)
    err.print(f"wrote {written.file}: {plural(written.files, 'file')}, {size}", soft_wrap=True, markup=False)
