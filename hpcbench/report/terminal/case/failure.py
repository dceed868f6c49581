"""Failures of a case: the reasons, and the last output lines of the latest failed run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rich.console import RenderableType
from rich.text import Text

from hpcbench.core import status
from hpcbench.report.terminal import status_groups, status_summary
from hpcbench.report.terminal.case.facts import Facts
from hpcbench.report.terminal.case.view import CaseView
from hpcbench.status.progress import Progress


def failure(view: CaseView, lines: int) -> Iterator[RenderableType]:
    """Yield the failures with at most `lines` last lines of output; nothing if all runs have completed."""
    left = tuple(run for run in view.runs if run.state != status.COMPLETED)
    yield from status_groups.lines(replace(view.progress, runs=left)) if left else ()
    last = last_words(view.progress)[-lines:] if lines else []
    if last:
        yield Text("last lines of its output", style="dim")
        yield Facts([("", "\n".join(last))], indent=2)


def last_words(progress: Progress) -> list[str]:
    """Return the last output lines of the latest failed run, from its record."""
    failed = status_summary.failures(progress.runs)
    record = failed[-1].record if failed else None
    return list(record.error.last_lines) if record and record.error else []
