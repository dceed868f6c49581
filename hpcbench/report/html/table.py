"""The table of cases on the page: all columns, identifying ones first."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from hpcbench.analysis.acceptance import VERDICT
from hpcbench.analysis.cases.labels import plain
from hpcbench.analysis.cases.quantities import THROUGHPUT, as_reported
from hpcbench.analysis.cases.user_workload import USER_WORKLOAD
from hpcbench.analysis.predicted.columns import QUANTITIES as PREDICTED
from hpcbench.analysis.results import Results
from hpcbench.report.html import page_model
from hpcbench.report.text.units import apart

SHOWN = (
    "status",
    VERDICT,
    *(name for each in PREDICTED for name in (each.column, each.ratio, each.verdict)),
    "time_median_s",
    "time_ci_low_s",
    "time_ci_high_s",
    "throughput_items_per_s",
    "speedup",
    "runs",
)
_SCALED: dict[str, page_model.Kind] = {"s": "time", "B": "bytes"}
_LIMIT = re.compile("_(ci|pi)_(low|high)$")


def table_of(cases: pd.DataFrame, results: Results) -> page_model.Table:
    """Return the table of cases, in the order of the ranking, without empty columns."""
    frame = cases.drop(columns=["case_index", USER_WORKLOAD]).dropna(axis="columns", how="all")
    shown = {*results.shown, *SHOWN, results.quantity.column, *results.metrics}
    names = sorted(map(str, frame), key=lambda name: (name not in results.shown, name not in shown))
    currencies = list(results.cases["currency"].dropna().unique())
    currency = currencies[0] if len(currencies) == 1 else ""
    columns = tuple(_column(name, frame[name], results, currency, name in shown) for name in names)
    rows = [tuple(map(_plain, row)) for row in zip(*(frame[name].tolist() for name in names), strict=True)]
    whole = len(rows) == len(results.cases)
    title = "All cases" if whole else f"The best {len(rows):,} of {len(results.cases):,} cases"
    return page_model.Table(columns, rows, title)


def _column(name: str, values: pd.Series[Any], results: Results, currency: str, shown: bool) -> page_model.Column:
    """Return a column of the table; limits of an interval have the format of their quantity."""
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return page_model.Column(name, plain(name).replace("_", " "), "text", shown=shown)
    of = _LIMIT.sub("", name)
    title, unit = apart(of)
    title += name.removeprefix(of).replace("_", " ")
    if of in results.metrics:
        unit = results.metrics[of].unit
    elif of == THROUGHPUT.column:
        unit = as_reported(THROUGHPUT, results.cases).unit
    elif of.startswith("price_"):
        unit = currency
    kind = _SCALED.get(unit, "number")
    return page_model.Column(name, title, kind, "" if unit in _SCALED else unit, shown=shown)


def _plain(value: Any) -> page_model.Cell:
    """Return a value of pandas or numpy as a plain Python value."""
    if value is None or value is pd.NA or value != value:
        return None
    if isinstance(value, bool | int | float | str):
        return value
    return value.item() if hasattr(value, "item") else str(value)
