"""The consoles for standard output and standard error."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from hpcbench.errors import Finding, UserError
from hpcbench.util.closed_pipe import end_quietly
from hpcbench.util.text import printable


class PrintableConsole(Console):
    """A rich console that prints no control characters from its input.

    Its own colours and cursor movements are printed. A character that its encoding does not have becomes a question
    mark.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of a renderable, with control characters and unencodable characters replaced."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else self._encodable(printable(text)), style, control)

    def on_broken_pipe(self) -> None:
        """Exit quietly: the reader of the output, for example `head`, has closed it."""
        end_quietly()

    def use_color(self, when: str) -> None:
        """Print colours and styles `always` or `never`, also in a pipe or if NO_COLOR is set."""
        self.no_color = when == "never"
        self._color_system = (self._color_system or ColorSystem.EIGHT_BIT) if when == "always" else None

    def _encodable(self, text: str) -> str:
        return text if text.isascii() else text.encode(self.encoding, "replace").decode(self.encoding)


out = PrintableConsole(highlight=False)
if not out.is_terminal and "COLUMNS" not in os.environ:
    out.width = 1000  # a file or a pipe has no margin: a smaller width would break the words of wide tables
err = PrintableConsole(stderr=True, highlight=False)


def print_error(error: UserError | Finding, usage: str = "") -> None:
    """Print an error with its location and hint to standard error, and the usage of the command if it is given.

    Errors are printed also if `err` is quiet.
    """
    findings = error.findings if isinstance(error, UserError) else (error,)
    rest = [Text(""), Text(error.rest)] if isinstance(error, UserError) and error.rest else []
    was_quiet, err.quiet = err.quiet, False
    for index, finding in enumerate(findings):
        _print_lines([Text(""), *_lines(finding, usage)] if index else _lines(finding, usage))
    _print_lines(rest)
    err.quiet = was_quiet


def print_warnings(warnings: Iterable[str]) -> None:
    """Print warnings to standard error."""
    for warning in warnings:
        print_warning(warning)


def print_warning(what: str) -> None:
    """Print a warning to standard error."""
    _print_lines([_labelled("warning", "yellow", what)])


def _lines(finding: Finding, usage: str) -> Iterator[Text]:
    """Yield the lines of a finding. An option is in the first line; a place in a file has a line of its own."""
    of_option = finding.where.startswith("-")
    yield _labelled("error", "red", f"{finding.where}: {finding.what}" if of_option else finding.what)
    if finding.where and not of_option:
        yield Text.assemble(("  --> ", "blue"), finding.where)
    if usage:
        yield _labelled("usage", "green", usage)
    for line in finding.hint.splitlines():
        yield _labelled("hint", "cyan", line.strip())


def _labelled(label: str, colour: str, text: str) -> Text:
    return Text.assemble((f"{label}:", colour), f" {text}")


def _print_lines(lines: Iterable[Text]) -> None:
    for line in lines:
        err.print(line, soft_wrap=True)
