"""Aligned names and values on a terminal, without trailing spaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from hpcbench.util.text import printable

INDENT = 14  # width of the column of names, in characters
NARROWEST = 20

Fact = tuple[str, str | Text | None]


class Facts:
    """A renderable with a line per fact, or several for long or multi-line values. Empty facts are omitted."""

    def __init__(self, facts: Iterable[Fact], indent: int = INDENT) -> None:
        self._facts = [(name, value) for name, value in facts if value]
        self._indent = indent

    def __bool__(self) -> bool:
        return bool(self._facts)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for name, value in self._facts:
            text = Text(printable(value)) if isinstance(value, str) else value
            label = Text(f"{name:{self._indent - 1}} ", style="dim")
            for line in _lines(text or Text(), console, options, self._indent):
                line.rstrip()
                yield Text.assemble(label, line)
                label = Text(" " * self._indent)


def _lines(text: Text, console: Console, options: ConsoleOptions, indent: int) -> Iterator[Text]:
    for line in text.split("\n", allow_blank=True):
        if options.no_wrap:
            yield line
        else:
            yield from line.wrap(console, max(NARROWEST, options.max_width - indent))
