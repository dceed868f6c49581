"""The log of a case: its path and its last lines."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from hpcbench.report.terminal.case.facts import Facts
from hpcbench.report.terminal.case.failure import last_words
from hpcbench.report.terminal.case.view import CaseView
from hpcbench.report.terminal.status_summary import from_workspace, log_path
from hpcbench.store.logs import last_lines


def log(view: CaseView, lines: int) -> Iterator[RenderableType]:
    """Yield the last `lines` lines of the log of CaseView.telling, except those that `failure` has printed."""
    run = view.telling
    path = log_path(view.sweep, run) if run else None
    if run is None or path is None:
        return
    yield Text(f"{from_workspace(view.sweep, path)} (run {run.planned.run})")
    try:
        last = last_lines(path, lines)
    except OSError as error:
        yield Text(f"cannot be read: {error.strerror}", style="dim")
        return
    above = set(last_words(view.progress)[-lines:])
    left = [line for line in last if line not in above]
    if len(left) < len(last):
        yield Text("ends with the lines above" + (" and these:" if left else ""), style="dim")
    yield Facts([("", "\n".join(left))], indent=2)
