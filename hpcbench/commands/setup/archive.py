"""hpcbench archive: pack a sweep into one file."""

from __future__ import annotations

from pathlib import Path

import click
from rich import filesize

from hpcbench.commands.shared.context import sweep_argument, workspace_of
from hpcbench.commands.shared.progress_bar import shown_after_a_while
from hpcbench.status.query import or_records
from hpcbench.status.reconcile import reconcile
from hpcbench.store.archive.pack import SUFFIX, Written, write
from hpcbench.store.sweep import load
from hpcbench.store.workspace import SweepPaths
from hpcbench.util.console import err, print_warning
from hpcbench.util.exit_status import exit_statuses
from hpcbench.util.text import plural

MAX_NAMED = 10

EPILOG = """\b
Examples:
  hpcbench archive                               write the latest sweep to SWEEP.tar.gz
  hpcbench archive lstm -o ~/results/lstm.tar.gz
  hpcbench report lstm.tar.gz                    report on any machine
  hpcbench sweep --from lstm.tar.gz --dry-run    what the repeated sweep would run
""" + exit_statuses()


@click.command("archive", epilog=EPILOG)
@sweep_argument(default="latest")
@click.option("-o", "--output", metavar="FILE", help=f"Write the archive to FILE.  [default: SWEEP{SUFFIX}]")
@click.pass_context
def archive_command(context: click.Context, sweep: str, output: str | None) -> int:
    """Pack the scripts, logs, records and provenance of SWEEP into one file.

    `report`, `show`, `logs`, `open`, `compare`, `gate` and `sweep --from` accept the file. An existing file is never
    replaced.
    """
    paths = workspace_of(context).find(sweep)
    file = Path(output or f"{paths.name}{SUFFIX}")
    _warn_if_unfinished(paths)
    with shown_after_a_while("archiving") as report:
        written = write(paths, file, report)
    _report(written)
    return 0


def _warn_if_unfinished(paths: SweepPaths) -> None:
    progress = or_records(reconcile, load(paths))
    for warning in progress.warnings:
        print_warning(warning)
    if all(run.ended for run in progress.runs):
        return
    left = ", ".join(f"{count} {state}" for state, count in progress.counts().items())
    message = f"the sweep has not ended ({left}): later results will not be in the file"
    print_warning(message)


def _report(written: Written) -> None:
    for name in written.left_out[:MAX_NAMED]:
        err.print(f"left out (not a regular file): {name}", soft_wrap=True, markup=False)
    if len(written.left_out) > MAX_NAMED:
        err.print(f"and {len(written.left_out) - MAX_NAMED} more")
    size = filesize.decimal(written.size_bytes)
    err.print(f"wrote {written.file}: {plural(written.files, 'file')}, {size}", soft_wrap=True, markup=False)
