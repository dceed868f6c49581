"""hpcbench archive: one file of a sweep."""

from __future__ import annotations

from pathlib import Path

import click
from rich import filesize
from rich.markup import escape

from hpcbench.commands.shared.context import sweep_argument, workspace_of
from hpcbench.commands.shared.progress_bar import shown_after_a_while
from hpcbench.status.query import or_records
from hpcbench.status.reconcile import reconcile
from hpcbench.store.archive.pack import SUFFIX, Written, write
from hpcbench.store.sweep import load
from hpcbench.store.workspace import SweepPaths
from hpcbench.util.console import err
from hpcbench.util.text import plural

MOST_NAMED = 10

EPILOG = """\b
Examples:
  hpcbench archive latest                        SWEEP.tar.gz, in this folder
  hpcbench archive lstm -o ~/results/lstm.tar.gz
  hpcbench report lstm.tar.gz                    on any machine
  hpcbench sweep --from lstm.tar.gz --dry-run    what running it again would do

Exit status: 0 all is well; 2 a mistake; 130 interrupted.
"""


@click.command("archive", epilog=EPILOG, short_help="Make one file of a sweep, to keep or to read elsewhere.")
@sweep_argument()
@click.option("-o", "--output", metavar="FILE", help=f"Write FILE.  [default: SWEEP{SUFFIX}]")
@click.pass_context
def archive_command(context: click.Context, sweep: str, output: str | None) -> int:
    """Make one file of SWEEP: its scripts, logs and records, what it was made from, and what it ran on.

    `report`, `show`, `compare` and `sweep --from` read it. A file that exists is never replaced.
    """
    paths = workspace_of(context).find(sweep)
    file = Path(output or f"{paths.name}{SUFFIX}")
    _warn_of_what_is_left(paths)
    with shown_after_a_while("archiving") as report:
        written = write(paths, file, report)
    _tell(written)
    return 0


def _warn_of_what_is_left(paths: SweepPaths) -> None:
    progress = or_records(reconcile, load(paths))
    for warning in progress.warnings:
        err.print(f"[yellow]warning:[/yellow] {escape(warning)}", soft_wrap=True)
    if all(run.ended for run in progress.runs):
        return
    left = ", ".join(f"{count} {state}" for state, count in progress.counts().items())
    told = f"the sweep has not ended ({left}): what comes later will not be in the file"
    err.print(f"[yellow]warning:[/yellow] {escape(told)}", soft_wrap=True)


def _tell(written: Written) -> None:
    for name in written.left_out[:MOST_NAMED]:
        err.print(f"left out, since it is no plain file: {name}", soft_wrap=True, markup=False)
    if len(written.left_out) > MOST_NAMED:
        err.print(f"and {len(written.left_out) - MOST_NAMED} more")
    size = filesize.decimal(written.size_bytes)
    err.print(f"wrote {written.file}: {plural(written.files, 'file')}, {size}", soft_wrap=True, markup=False)
