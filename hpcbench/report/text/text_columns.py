"""Text tables that fit a terminal by dropping the least important columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from hpcbench.util.text import printable

NEVER = 0
GAP = 2  # cells between columns


@dataclass(frozen=True)
class Column:
    """A column of text. Columns with the highest `gives_way` are dropped first; with NEVER (0), a column is kept.

    An interval is dropped together with its value, which is the column before it.
    """

    header: str
    cells: tuple[str, ...]
    gives_way: int = NEVER
    is_interval: bool = False  # of the column before it
    is_text: bool = False  # left-aligned, and may be wrapped
    styles: tuple[str, ...] = ()  # rich styles, one per cell, or none
    identifies: bool = False  # the row, in each table
    may_move: bool = False  # to a table below, if the table is too wide

    @property
    def width(self) -> int:
        """Return the width in terminal cells."""
        return max(map(cell_len, (*self.cells, *self.header.split("\n"))))

    @property
    def printable(self) -> Column:
        """Return the column with control characters replaced, so that its width is known."""
        return replace(self, header=printable(self.header), cells=tuple(map(printable, self.cells)))

    @property
    def narrow(self) -> Column:
        """Return the column with its header wrapped to the width of its cells, if possible."""
        longest = max((cell_len(cell) for cell in self.cells), default=0)
        lines: list[str] = []
        for word in self.header.split(" "):
            if lines and cell_len(f"{lines[-1]} {word}") <= longest:
                lines[-1] += f" {word}"
            else:
                lines.append(word)
        return replace(self, header="\n".join(lines))


def fitting(columns: Sequence[Column], width: int) -> list[Column]:
    """Return the columns that fit in `width` terminal cells, and all columns that never give way."""
    columns = [column.printable for column in columns]
    if _width(columns) <= width:
        return columns
    kept: list[list[Column]] = []  # each value with its interval
    for column in columns:
        kept[-1:] = [[*kept[-1], column.narrow]] if column.is_interval else [*kept[-1:], [column.narrow]]
    while _width(list(chain(*kept))) > width:
        first = max(kept, key=lambda each: each[0].gives_way)
        if first[0].gives_way == NEVER:
            break
        kept.remove(first)
    return list(chain(*kept))


def fitting_tables(columns: Sequence[Column], width: int) -> list[list[Column]]:
    """Return the columns that fit, with those that may move in further tables if one table cannot have all of them.

    Further tables begin with the columns that identify the rows.
    """
    kept = fitting(columns, width)
    moved = [column.narrow for column in kept if column.may_move]
    if not moved or _width(kept) <= width:
        return [kept]
    names = [column.printable.narrow for column in columns if column.identifies]
    below = [[*names, moved[0]]]
    for column in moved[1:]:
        if _width([*below[-1], column]) <= width:
            below[-1].append(column)
        else:
            below.append([*names, column])
    return [fitting([column for column in columns if not column.may_move], width), *below]


def as_table(columns: Sequence[Column]) -> Table:
    """Return a rich table of the columns, without markup in cells."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    columns = [column.printable for column in columns]
    for column in columns:
        header, justify = Text(column.header), _justify(column)
        table.add_column(header, justify=justify, vertical="bottom", overflow="fold", no_wrap=not column.is_text)
    for cells in zip(*map(_texts, columns), strict=True):
        table.add_row(*cells)
    return table


def _justify(column: Column) -> Literal["left", "right"]:
    return "left" if column.is_text else "right"


def _texts(column: Column) -> list[Text]:
    styles = column.styles or ("",) * len(column.cells)
    return [Text(cell, style=style) for cell, style in zip(column.cells, styles, strict=True)]


def _width(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)
