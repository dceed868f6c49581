"""Text and tables in Markdown."""

from __future__ import annotations

import re

from hpcbench.report.text.text_columns import Column
from hpcbench.util.text import printable

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$])")


def markdown_table(columns: list[Column]) -> list[str]:
    """Return the lines of a Markdown table."""
    rows = zip(*(column.cells for column in columns), strict=True)
    return [
        "| " + " | ".join(in_markdown(column.header) for column in columns) + " |",
        "|" + "|".join(" --- " if column.is_text else " ---: " for column in columns) + "|",
        *("| " + " | ".join(map(in_markdown, cells)) + " |" for cells in rows),
    ]


def in_markdown(text: str) -> str:
    """Return text in one line with the special characters of Markdown escaped."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def one_line(text: str) -> str:
    """Return text with each white space as one blank, and without control characters."""
    return printable(" ".join(text.split()))
