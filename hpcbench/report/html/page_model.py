"""What the report page says, before it is HTML: plain texts and numbers, in the order in which they are read.

Texts are data and may hold anything; `hpcbench.report.html.render.render` makes the file of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Standing = Literal["best", "within noise", ""]
BEST: Standing = "best"
WITHIN_NOISE: Standing = "within noise"
BEHIND: Standing = ""

# How the page shows a value of the table: as it is, as `figure`, `duration` or `memory` of formats.py do.
Kind = Literal["text", "number", "time", "bytes"]
Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Answer:
    """`about` is the kind of work, where the page answers for several; `text` has lines as a terminal shows them, with
    commands among them."""

    sentence: str
    about: str = ""
    details: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class Bar:
    """How long a bar is, and its interval, as parts (0 to 1) of the longest one with its interval."""

    share: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Place:
    """A row of a ranking. The cells are ready to be read, as `duration` and `figure` of formats.py write them."""

    cells: tuple[str, ...]
    bar: Bar | None = None
    standing: Standing = BEHIND


@dataclass(frozen=True)
class Heading:
    """Of a column of a ranking; numbers stand on the right."""

    title: str
    numeric: bool = True


@dataclass(frozen=True)
class Ranking:
    """Cases of equal work, best first; `note` says what is left out, as in `and 12 more, in the table below`."""

    title: str
    columns: tuple[Heading, ...]
    places: tuple[Place, ...]
    note: str = ""
    bars: str = "Bar with its 95 % interval"  # what they show, for who cannot see them


@dataclass(frozen=True)
class Aggregates:
    """What all cases did, where the table has only some of them: a place for each value of each axis; or other tables
    of what the figures show. `name` is what the list of sections calls it."""

    title: str
    about: str
    tables: tuple[Ranking, ...]
    name: str = "Axes"


@dataclass(frozen=True)
class Figure:
    """A chart: `spec` is Vega-Lite, as `altair.Chart.to_dict` gives it.

    The page sets its width and its colours: a single or layered view fills the column, others scroll in their own box.
    A colour that a spec has to name is one of the page, such as `var(--accent)`, so that it fits dark mode, too.
    `description` says in words what the chart shows, for who cannot see it. `id` is a word of letters, digits and `-`.
    """

    id: str
    title: str
    caption: str
    description: str
    spec: Mapping[str, Any]
    wide: bool = False  # across the whole page, not half of it


@dataclass(frozen=True)
class Column:
    """`key` is the name in the file of --csv; `unit` is of kind number, since the others write their own."""

    key: str
    title: str
    kind: Kind = "text"
    unit: str = ""
    shown: bool = True  # before the reader chooses


@dataclass(frozen=True)
class Table:
    """Raw values, one for each column; None is what is not known. `rows` are in the order first shown."""

    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Cell]]
    title: str = "All cases"
    of: str = "case"  # what a row is
    file: str = "cases.csv"  # as which it is downloaded


@dataclass(frozen=True)
class Failure:
    """Cases that ended alike, skipped ones among them; `cases` are the first of the `count`, in words."""

    status: str
    reason: str
    count: int
    cases: tuple[str, ...] = ()
    log: str = ""


@dataclass(frozen=True)
class Fact:
    name: str
    value: str


@dataclass(frozen=True)
class RuleKept:
    """One of the twelve rules, and how it is kept, or else what is lacking and what to do about it."""

    number: int
    name: str
    kept: bool
    said: tuple[str, ...]


@dataclass(frozen=True)
class Trust:
    facts: tuple[Fact, ...] = ()
    rules: tuple[RuleKept, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Machine:
    name: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Command:
    """A line of the shell that can be copied as it is, and what it does."""

    line: str
    comment: str


@dataclass(frozen=True)
class Again:
    commands: tuple[Command, ...] = ()
    versions: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class Page:
    title: str
    created_at: datetime
    table: Table
    subtitle: tuple[str, ...] = ()
    answers: tuple[Answer, ...] = ()
    notices: tuple[str, ...] = ()  # what the reader has to know first, such as that rows stand for several cases
    rankings: tuple[Ranking, ...] = ()
    insights: tuple[str, ...] = ()  # sentences: what explains the differences, rules of thumb
    figures: tuple[Figure, ...] = ()
    threads: Aggregates | None = None
    aggregates: Aggregates | None = None
    failures: tuple[Failure, ...] = ()
    trust: Trust = field(default_factory=Trust)
    machines: tuple[Machine, ...] = ()
    again: Again = field(default_factory=Again)
