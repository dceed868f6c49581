"""The consoles for standard output and standard error."""

from __future__ import annotations

import os
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from hpcbench.util.text import printable


class PrintableConsole(Console):
    """Its own colours and its own movements of the cursor, and none that is in what it prints; a question mark for what
    its encoding does not have."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else self._encodable(printable(text)), style, control)

    def _encodable(self, text: str) -> str:
        return text if text.isascii() else text.encode(self.encoding, "replace").decode(self.encoding)


out = PrintableConsole(highlight=False)
if not out.is_terminal and "COLUMNS" not in os.environ:
    out.width = 1000  # a file or a pipe has no margin: else words of wide tables would be cut to pieces
err = PrintableConsole(stderr=True, highlight=False)
