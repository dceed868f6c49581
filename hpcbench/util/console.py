"""The consoles for standard output and standard error."""

from __future__ import annotations

import os
from collections.abc import Iterable

from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

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
