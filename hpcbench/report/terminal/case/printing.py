"""Print a case on a terminal, section by section."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, RenderableType
from rich.text import Text

from hpcbench.report.terminal.case.environment import environment
from hpcbench.report.terminal.case.failure import failure
from hpcbench.report.terminal.case.interference import interference
from hpcbench.report.terminal.case.log import log
from hpcbench.report.terminal.case.plan import plan, title
from hpcbench.report.terminal.case.repetitions import repetitions
from hpcbench.report.terminal.case.result import result
from hpcbench.report.terminal.case.samples import distribution
from hpcbench.report.terminal.case.script import command, script
from hpcbench.report.terminal.case.view import CaseView
from hpcbench.report.text.bars import shows_blocks

WIDTH = 80  # width of drawings, in characters, if the output is not a terminal


def print_case(view: CaseView, lines: int, console: Console) -> None:
    """Print all sections of a case that are not empty, with at most `lines` lines of the log."""
    console.print(title(view), soft_wrap=True)
    for name, parts in _parts(view, lines, console):
        shown = [part for part in parts if part]
        if shown:
            console.print(Text(f"\n{name}", style="bold"))
        for part in shown:  # lines are not wrapped in a pipe
            console.print(part, soft_wrap=not console.is_terminal or (isinstance(part, Text) and bool(part.no_wrap)))


def _parts(view: CaseView, lines: int, console: Console) -> Iterator[tuple[str, Iterable[RenderableType]]]:
    plain = not shows_blocks(console)
    width = console.width if console.is_terminal else WIDTH
    if not view.completed:
        yield "reason of failure", failure(view, lines)
    yield "plan", [plan(view)]
    yield "result", [result(view)]
    yield "measurements", distribution(view, width, plain=plain)
    yield "runs", repetitions(view, console, plain=plain) if view.ended else []
    yield "interference", [interference(view)]
    yield "environment", [environment(view)]
    yield "script", [script(view), Text("To start a run:", style="dim"), command(view)]
    yield "log", log(view, lines)
