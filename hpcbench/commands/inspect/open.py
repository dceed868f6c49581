"""hpcbench open: the report page of a sweep, in the browser."""

from __future__ import annotations

import os
import shlex
import socket
import webbrowser
from pathlib import Path

import click

from hpcbench.commands.options.extras import require
from hpcbench.commands.shared.context import archives_of_anybody, open_sweep, sweep_argument, workspace_of
from hpcbench.commands.shared.report_page import write_page_of
from hpcbench.report.load.records import surveyed
from hpcbench.store.workspace import SweepPaths
from hpcbench.util.console import err, out
from hpcbench.util.exit_status import exit_statuses
from hpcbench.util.gc_pause import without_garbage_collection

PAGE = "report.html"
DISPLAYS = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")  # variables without which only a browser for terminals is found

EPILOG = """\b
Examples:
  hpcbench open                   the latest sweep
  hpcbench open lstm              the latest sweep of the experiment lstm
  hpcbench open lstm.tar.gz       an archive; the page is written to this folder
  BROWSER=firefox hpcbench open
""" + exit_statuses("no results yet")


@click.command("open", epilog=EPILOG)
@sweep_argument(default="latest")
@click.pass_context
@without_garbage_collection()
@archives_of_anybody()
def open_command(context: click.Context, sweep: str) -> int:
    """Write the report page of SWEEP to results/SWEEP/report.html, and open it in the browser.

    The page is the one of `hpcbench report --html`, with the results so far. Without a display, print the path of the
    page and the command that copies it.
    """
    require("html", "hpcbench open")
    workspace = workspace_of(context)
    paths = open_sweep(context, workspace, sweep)
    progress = surveyed(paths)
    page = _page_of(paths)
    if not paths.archive:
        progress.sweep.check_writable()
    if not write_page_of(progress, workspace, str(page)):
        err.print(f"no records found; see: hpcbench status {paths.name}", soft_wrap=True)
        return 1
    out.print(str(page), soft_wrap=True, markup=False)
    if not _shown(page):
        here = shlex.quote(f"{socket.gethostname()}:{page}")
        err.print(f"no browser found; on your own machine, run: scp {here} .", soft_wrap=True, markup=False)
    return 0


def _page_of(paths: SweepPaths) -> Path:
    """Return where the page is written: for an archive, whose folder is temporary, this folder."""
    return Path(f"{paths.name}-{PAGE}").absolute() if paths.archive else paths.results / PAGE


def _shown(page: Path) -> bool:
    """Return whether a browser was started. A browser for terminals is started only if BROWSER names it."""
    return any(os.environ.get(name) for name in DISPLAYS) and webbrowser.open(page.as_uri())
