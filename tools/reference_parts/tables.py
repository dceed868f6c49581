"""Markdown tables."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

_CODE_WITH_BAR = re.compile(r"`([^`]*\|[^`]*)`")


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [_line(heads), "|" + "---|" * len(heads)]
    return [*lines, *(_line(row) for row in rows)]


def code(value: object) -> str:
    """Return a value as inline code."""
    return f"`{value}`"


def codes(values: Iterable[object]) -> str:
    """Return values as inline code, separated by commas."""
    return ", ".join(map(code, values))


def _line(cells: Sequence[object]) -> str:
    return "| " + " | ".join(_cell(str(cell)) for cell in cells) + " |"


def _cell(text: str) -> str:
    """Return a text without bars: GitHub requires a backslash before a bar in code, which MkDocs would show."""
    coded = _CODE_WITH_BAR.sub(lambda found: f"<code>{html.escape(found[1])}</code>", text)
    return coded.replace("|", "&#124;")
