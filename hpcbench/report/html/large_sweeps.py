"""Pages of large sweeps: the cases in the table, and statistics of all cases by axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import pandas as pd

from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.analysis.cases.workloads import work_groups
from hpcbench.analysis.results import Results
from hpcbench.analysis.studies.aggregate import Aggregate, Level, aggregates
from hpcbench.report.html import page_model
from hpcbench.report.text.numbers import formatter
from hpcbench.report.text.ranking import heading
from hpcbench.report.text.units import header_of
from hpcbench.util.text import plural

MAX_ROWS = 5000  # rows of the table
MAX_TABLES = 12  # workloads with a table of aggregates
_COUNTS = ("cases", "measured", "failed or skipped")
_ABOUT = (
    "Each case appears once below each axis. Quartiles are of the measured cases. An axis with many values is "
    "shown in ranges. Bars end at the median; lines connect the quartiles."
)


def is_large(results: Results) -> bool:
    """Return whether the table is limited to MAX_ROWS of the cases."""
    return len(results.cases) > MAX_ROWS


def notice(results: Results) -> str:
    """Return the sentence on the cases that are omitted from the table."""
    text = f"The table has the best {MAX_ROWS:,} of {len(results.cases):,} cases, equally many of each"
    return f"{text} workload. Aggregates by axis cover all cases; --csv writes every case."


def best_of_each(cases: pd.DataFrame) -> pd.DataFrame:
    """Return at most MAX_ROWS cases in their order, chosen by rank within workloads, unmeasured cases last."""
    groups = work_groups(cases)
    places = cases.groupby(groups).cumcount().where(groups >= 0, len(cases))
    return cases.loc[places.sort_values(kind="stable").index[:MAX_ROWS].sort_values()]


def aggregates_of(results: Results) -> page_model.Aggregates:
    """Return a table of aggregates by axis per workload, at most MAX_TABLES."""
    found = aggregates(results)[:MAX_TABLES]
    tables = tuple(_table(each) for each in found if each.levels)
    return page_model.Aggregates(f"All {len(results.cases):,} cases by axis", _ABOUT, tables)


def _table(aggregate: Aggregate) -> page_model.Ranking:
    work = f"{aggregate.work.title}: " if aggregate.work else "Not measured, workload unknown: "
    quantity = aggregate.quantity
    measured = ("best", "lower quartile", "median", "upper quartile")
    words = (*_COUNTS, *(f"{each} {heading(quantity)}" for each in measured))
    columns = (
        page_model.Heading("axis", numeric=False),
        page_model.Heading("value", numeric=False),
        *map(page_model.Heading, words),
    )
    levels = [list(alike) for _, alike in groupby(aggregate.levels, key=lambda level: level.axis)]
    places = tuple(place for alike in levels for place in _places(alike, quantity))
    bars = "Bar of the median, with a line between the quartiles"
    return page_model.Ranking(f"{work}{plural(aggregate.cases, 'case')}", columns, places, bars=bars)


def _places(levels: Sequence[Level], quantity: Quantity) -> list[page_model.TableRow]:
    """Return the rows of one axis, named in the first row; bars are relative to the largest upper quartile."""
    longest = max((level.high for level in levels if level.high is not None), default=math.nan)
    written = formatter(quantity)
    found = []
    for number, level in enumerate(levels):
        counts = (f"{count:,}" for count in (level.cases, level.measured, level.incomplete))
        values = (level.best, level.low, level.median, level.high)
        cells = ("-" if value is None else written(value) for value in values)
        axis = header_of(level.axis) if number == 0 else ""
        found.append(page_model.TableRow((axis, level.value, *counts, *cells), _bar(level, longest)))
    return found


def _bar(level: Level, longest: float) -> page_model.Bar | None:
    if level.low is None or level.median is None or level.high is None or not longest > 0 or level.low < 0:
        return None
    return page_model.Bar(level.median / longest, level.low / longest, level.high / longest)
