"""The full table of cases for the page: every column, the telling ones shown first."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from hpcbench.analysis.naming import plain
from hpcbench.analysis.results import Results
from hpcbench.config.parameters import TAG
from hpcbench.report.page import model

SHOWN = (
    "status",
    "time_median_s",
    "time_ci_low_s",
    "time_ci_high_s",
    "throughput_items_per_s",
    "speedup",
    "repetitions",
)
# By the end of a column's name: the kind of its numbers, their unit, and what of the name says the same.
_ENDINGS: tuple[tuple[str, model.Kind, str], ...] = (
    ("_items_per_s", "number", "items/s"),
    ("_flops_per_s", "number", "FLOP/s"),
    ("_bytes_per_s", "number", "B/s"),
    ("_j_per_item", "number", "J"),
    ("_j_s_per_item2", "number", "J s"),
    ("_kwh_per_million_items", "number", "kWh"),
    ("_kwh_per_run", "number", "kWh"),
    ("_j", "number", "J"),
    ("_s", "time", ""),
    ("_bytes", "bytes", ""),
)
_SCALED: dict[str, model.Kind] = {"s": "time", "B": "bytes"}
_LIMIT = re.compile("_ci_(low|high)$")


def table_of(cases: pd.DataFrame, results: Results) -> model.Table:
    """In the order of the ranking; columns that hold nothing are left out."""
    frame = cases.drop(columns="case_index").dropna(axis="columns", how="all")
    shown = {*results.shown, *SHOWN, results.quantity.column, *results.metrics}
    names = sorted(map(str, frame), key=lambda name: (name not in results.shown, name not in shown))
    currencies = list(results.cases["currency"].dropna().unique())
    currency = currencies[0] if len(currencies) == 1 else ""
    columns = tuple(_column(name, frame[name], results, currency, name in shown) for name in names)
    rows = [tuple(map(_plain, row)) for row in zip(*(frame[name].tolist() for name in names), strict=True)]
    whole = len(rows) == len(results.cases)
    title = "All cases" if whole else f"The best {len(rows):,} of {len(results.cases):,} cases"
    return model.Table(columns, rows, title)


def _column(name: str, values: pd.Series[Any], results: Results, currency: str, shown: bool) -> model.Column:
    """The limits of an interval are shown as that of which they are the limits. What tags count, nobody knows."""
    title, of = plain(name).replace("_", " "), _LIMIT.sub("", name)
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return model.Column(name, title, "text", shown=shown)
    if name.startswith(TAG):
        return model.Column(name, title, "number", shown=shown)
    if of in results.metrics:
        unit = results.metrics[of].unit
        kind = _SCALED.get(unit, "number")
        return model.Column(name, title, kind, "" if unit in _SCALED else unit, shown=shown)
    if of.startswith("price_"):
        return model.Column(name, title, "number", currency, shown=shown)
    ending, kind, unit = next((each for each in _ENDINGS if of.endswith(each[0])), ("", "number", ""))
    short = title if unit else title.replace(ending.replace("_", " "), "", 1) if ending else title
    return model.Column(name, short, kind, unit, shown=shown)


def _plain(value: Any) -> model.Cell:
    """As JSON has it: none of pandas' and numpy's own."""
    if value is None or value is pd.NA or value != value:
        return None
    if isinstance(value, bool | int | float | str):
        return value
    return value.item() if hasattr(value, "item") else str(value)
