"""Find the cells of a column by its name: in CSV, in Markdown tables, and in tables with spaces between the cells."""

import csv
import io
import itertools
import re
from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple

from .error import MetricError, short

_DELIMITERS = ",;\t|"
_NUMBERED = re.compile(r"(?P<name>.+)\[(?P<place>[0-9]+)\]\Z")
_LONGEST_HEADER = 100_000  # characters
_RULER = re.compile(r"[\s|:=+-]*\Z")
_LIKE_NUMBER = re.compile(r"[-+]?[.,]*[0-9][0-9.,]*(?:[eE][-+]?[0-9]+)?\Z|[-+]?(?:nan|inf)\Z", re.IGNORECASE)
_ABSENT = ("-", "N/A", "n/a")
_APART = re.compile(r"\t| {2,}")


def column(name: str, text: str) -> Iterator[str]:
    """Yield the cells below a header, without empty ones; `busbw[1]` is the second column with the name `busbw`.

    Lines above the header, and lines of other output below it, are skipped. Raise MetricError if a row does not have as
    many cells as the header, or if several columns have the name.
    """
    lines = text.splitlines(True)
    word = _without_place(name)
    for at, line in enumerate(lines):
        for delimiter in _DELIMITERS if word in line and len(line) <= _LONGEST_HEADER else "":
            header = [cell.strip() for cell in next(csv.reader([_bare(line)], delimiter=delimiter), [])]
            place = _place(name, header)
            if place is not None:
                below = lines[at + 1 :]
                if delimiter == "|":
                    below = [_bare(each) for each in itertools.takewhile(_is_markdown, below)]
                return _cells(place, len(header), "".join(below), delimiter)
    return _cells_between_spaces(name, lines)


def _without_place(name: str) -> str:
    numbered = _NUMBERED.match(name)
    return numbered.group("name") if numbered else name


def _is_markdown(line: str) -> bool:
    return line.strip().startswith("|")


def _bare(line: str) -> str:
    """Return a line of a Markdown table without its outer bars, empty for a ruler; return other lines unchanged."""
    text = line.strip()
    if text.startswith("|") and text.endswith("|") and len(text) > 1:
        return "" if _RULER.match(text) else text[1:-1] + "\n"
    return line


def _place(name: str, header: Sequence[str]) -> Optional[int]:
    """Return the place of a column, or None. Raise MetricError if several columns have the name."""
    names = [cell.lstrip("# ") if at == 0 and cell not in (name, "") else cell for at, cell in enumerate(header)]
    places = [at for at, cell in enumerate(names) if cell == name]
    numbered = _NUMBERED.match(name)
    if not places and numbered:
        same = [at for at, cell in enumerate(names) if cell == numbered.group("name")]
        return same[int(numbered.group("place"))] if int(numbered.group("place")) < len(same) else None
    if len(places) > 1:
        numbers = " or ".join("%s[%d]" % (name, at) for at in range(len(places)))
        raise MetricError("the header has %d columns with this name: use %s" % (len(places), numbers))
    return places[0] if places else None


def _cells(place: int, width: int, text: str, delimiter: str) -> Iterator[str]:
    """Yield the cells of a column.

    A line of another width is other output, and skipped, if fewer than half of its cells are numbers. Otherwise it is a
    row: raise MetricError, unless other output precedes it.
    """
    inside = True
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
        if len(row) == width:
            inside = True
            if row[place].strip():
                yield row[place]
        elif _is_row([cell.strip() for cell in row]) or any("\n" in cell for cell in row):
            if inside:
                line = short(delimiter.join(row))
                raise MetricError("a row has %d cells, its header has %d: %s" % (len(row), width, line))
        elif row:
            inside = False


class _Header(NamedTuple):
    line: int
    place: int
    width: int


def _cells_between_spaces(name: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield the cells of a column below each header line that has its name and is followed by a row of as many cells.

    A line is a row if at least half of its cells are numbers. The table ends at any other line; comments, rulers and
    lines of units below the header are skipped.
    """
    following = _following(lines)
    header = _next_header(name, lines, following, 0)
    inside = True
    for at in range(header.line + 1 if header else len(lines), len(lines)):
        cells = lines[at].split()
        if header and _is_row(cells):
            if len(cells) == header.width:
                inside = True
                if cells[header.place] not in _ABSENT:
                    yield cells[header.place]
            elif inside:
                shown = short(lines[at].strip())
                raise MetricError("a row has %d cells, its header has %d: %s" % (len(cells), header.width, shown))
        elif not _is_aside(lines[at]):
            inside = False
            header = _next_header(name, lines, following, at, at + 1) or header


def _following(lines: Sequence[str]) -> List[int]:
    """Return for each line the index of the next line that is not an aside; len(lines) if no such line follows."""
    found = [len(lines)] * len(lines)
    for at in range(len(lines) - 2, -1, -1):
        found[at] = found[at + 1] if _is_aside(lines[at + 1]) else at + 1
    return found


def _next_header(
    name: str, lines: Sequence[str], following: Sequence[int], start: int, end: Optional[int] = None
) -> Optional[_Header]:
    """Return the first line from `start` on that is a header with the name of the column, or None."""
    word = _without_place(name)
    for at in range(start, len(lines) if end is None else end):
        if word not in lines[at]:
            continue
        below = lines[following[at]].split() if following[at] < len(lines) else []
        for header in _readings(lines[at]):
            if len(header) == len(below) and _is_row(below):
                place = _place(name, header)
                if place is not None:
                    return _Header(at, place, len(header))
    return None


def _readings(line: str) -> Tuple[List[str], List[str]]:
    """Return the cells of a header line, split at any spaces, and split at two or more, since a name may have one."""
    text = line.strip().lstrip("#").strip()
    return text.split(), [cell.strip() for cell in _APART.split(text) if cell.strip()]


def _is_aside(line: str) -> bool:
    """Return whether a line is a comment or a ruler, which neither belongs to a table nor ends it."""
    text = line.strip()
    return bool(text) and (text.startswith("#") or _RULER.match(text) is not None)


def _is_row(cells: Sequence[str]) -> bool:
    return bool(cells) and 2 * sum(_LIKE_NUMBER.match(cell) is not None for cell in cells) >= len(cells)
