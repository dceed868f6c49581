"""Displays of the state of a sweep: redrawn on a terminal, lines in a pipe, JSON for programs."""

from __future__ import annotations

import datetime
import json
from typing import Any, Protocol

import click
from rich.console import Console
from rich.live import Live

from hpcbench.report.export.status_json import summary_as_json
from hpcbench.report.terminal.status import view
from hpcbench.report.terminal.status_lines import Lines
from hpcbench.status.progress import Progress
from hpcbench.util.console import err


class Display(Protocol):
    """Shows each state of a sweep, and messages."""

    def __enter__(self) -> object: ...

    def __exit__(self, *error: object) -> None: ...

    def show(self, progress: Progress, now: datetime.datetime, pause_s: float) -> None: ...

    def report(self, words: str) -> None: ...


def display_on(console: Console) -> Display:
    """Return the display that suits the console."""
    return Screen(console) if console.is_terminal and not console.is_dumb_terminal else Log(console)


class Screen:
    """A view that is redrawn in place once per state, and not in between, because an ssh connection may be slow."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")
        self._last: tuple[Progress, datetime.datetime] | None = None

    def __enter__(self) -> Screen:
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the last state on the screen, without the footer."""
        if self._last:
            self._draw(*self._last)
        self._live.stop()

    def show(self, progress: Progress, now: datetime.datetime, pause_s: float) -> None:
        self._last = progress, now
        self._draw(progress, now, f"next update in {pause_s:.0f} s; Ctrl-C closes this view (jobs continue)")

    def _draw(self, progress: Progress, now: datetime.datetime, footer: str = "") -> None:
        self._live.update(view(progress, now, footer, self._console.height - 1), refresh=True)

    def report(self, words: str) -> None:
        self._console.print(words, markup=False, soft_wrap=True)


class Log:
    """A line for each change."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lines = Lines()

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...

    def show(self, progress: Progress, now: datetime.datetime, pause_s: float) -> None:
        for line in self._lines.news(progress, now):
            self._console.print(line, soft_wrap=True)

    def report(self, words: str) -> None:
        self._console.print(words, markup=False, soft_wrap=True)


class JsonLines:
    """One line of JSON for each change, without single runs. Elapsed time alone is not a change."""

    def __init__(self) -> None:
        self._last: dict[str, Any] = {}

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...

    def show(self, progress: Progress, now: datetime.datetime, pause_s: float) -> None:
        summary = summary_as_json(progress, now)
        lasting = {**summary, "at": None, "expected_end": None}
        if lasting != self._last:
            self._last = lasting
            click.echo(json.dumps(summary))

    def report(self, words: str) -> None:
        err.print(words, markup=False, soft_wrap=True)
