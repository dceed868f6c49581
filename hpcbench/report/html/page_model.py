"""The content of the report page before rendering: texts and numbers in the order of the page.

Texts are data and may contain anything; render.py escapes them.
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

# Format of a value of the table: unchanged, or as by `figure`, `duration` or `memory` of report/text/numbers.py.
Kind = Literal["text", "number", "time", "bytes"]
Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Headline:
    """A result in a sentence. `about` is the workload, if there are several; `text` holds the lines of the terminal."""

    sentence: str
    about: str = ""
    details: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class Bar:
    """A bar and its interval, as fractions (0 to 1) of the longest bar with its interval."""

    share: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class TableRow:
    """A row of a ranking, with formatted cells."""

    cells: tuple[str, ...]
    bar: Bar | None = None
    standing: Standing = BEHIND


@dataclass(frozen=True)
class Heading:
    """The heading of a column of a ranking; numbers are right-aligned."""

    title: str
    numeric: bool = True


@dataclass(frozen=True)
class Ranking:
    """Cases of one workload, best first; `note` is on omitted cases: `and 12 more, in the table below`."""

    title: str
    columns: tuple[Heading, ...]
    places: tuple[TableRow, ...]
    note: str = ""
    bars: str = "Bar with its 95 % CI"  # alternative text of the bars


@dataclass(frozen=True)
class Aggregates:
    """Statistics of cases by axis, or tables of thread modes, verdicts or others; `name` heads the section."""

    title: str
    about: str
    tables: tuple[Ranking, ...]
    name: str = "Axes"


@dataclass(frozen=True)
class Figure:
    """A chart: `spec` is Vega-Lite, from `altair.Chart.to_dict`.

    The page sets width and colours: single and layered views fill the column, others scroll. Colours in a spec are
    variables of the page, such as `var(--accent)`, for dark mode. `description` is the alternative text. `id` has
    letters, digits and `-`.
    """

    id: str
    title: str
    caption: str
    description: str
    spec: Mapping[str, Any]
    wide: bool = False  # the width of the page instead of half the page


@dataclass(frozen=True)
class Column:
    """A column of the table: `key` is its name in the file of --csv; only columns of kind `number` have a `unit`."""

    key: str
    title: str
    kind: Kind = "text"
    unit: str = ""
    shown: bool = True  # initially visible


@dataclass(frozen=True)
class Table:
    """The table of raw values, one per column; None is unknown. `rows` are in the initial order."""

    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Cell]]
    title: str = "All cases"
    of: str = "case"  # what a row represents
    file: str = "cases.csv"  # name of the download
    command: str = "hpcbench report --csv FILE"  # writes the same table


@dataclass(frozen=True)
class Failure:
    """Failed or skipped cases with the same reason; `cases` are labels of the first of the `count` cases."""

    status: str
    reason: str
    count: int
    cases: tuple[str, ...] = ()
    log: str = ""


@dataclass(frozen=True)
class Fact:
    """A name with its value."""

    name: str
    value: str


@dataclass(frozen=True)
class RuleKept:
    """One of the twelve rules: how the report keeps it, its violations and remedies, or why it does not apply."""

    number: int
    name: str
    kept: bool  # also if it does not apply
    said: tuple[str, ...]
    verdict: str  # kept, not kept or not applicable


@dataclass(frozen=True)
class DataQuality:
    """The quality of the data: counts, rules and warnings."""

    facts: tuple[Fact, ...] = ()
    rules: tuple[RuleKept, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class System:
    """A measured system: site and CPU model, with facts."""

    name: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Command:
    """A shell command to copy, with its purpose."""

    line: str
    comment: str


@dataclass(frozen=True)
class Reproduction:
    """The commands and versions to reproduce the results."""

    commands: tuple[Command, ...] = ()
    versions: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class Page:
    """The report page, in the order of its fields."""

    title: str
    created_at: datetime
    table: Table
    subtitle: tuple[str, ...] = ()
    headlines: tuple[Headline, ...] = ()
    notices: tuple[str, ...] = ()  # caveats, such as omitted cases
    rankings: tuple[Ranking, ...] = ()
    insights: tuple[str, ...] = ()  # sentences on factors, guidelines and scaling
    figures: tuple[Figure, ...] = ()
    threads: Aggregates | None = None
    operators: Aggregates | None = None
    aggregates: Aggregates | None = None
    acceptance: Aggregates | None = None
    predictions: Aggregates | None = None
    step_parts: Aggregates | None = None
    divergences: Aggregates | None = None
    equal_epochs: Aggregates | None = None
    failures: tuple[Failure, ...] = ()
    trust: DataQuality = field(default_factory=DataQuality)
    machines: tuple[System, ...] = ()
    again: Reproduction = field(default_factory=Reproduction)
