"""The full table of cases for the page: every column, the telling ones shown first."""

from __future__ import annotations

from typing import Any

import pandas as pd

from hpcbench.analysis.naming import plain
from hpcbench.analysis.quantities import QUANTITIES
from hpcbench.analysis.results import Results
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
_UNITS = (("_items_per_s", "items/s"), ("_j_per_item", "J"), ("_j", "J"), ("_flops_per_s", "FLOP/s"))


def table_of(cases: pd.DataFrame, results: Results) -> model.Table:
    """In the order of the ranking; columns that hold nothing are left out."""
    frame = cases.drop(columns="case_index").dropna(axis="columns", how="all")
    shown = {*results.shown, *SHOWN, results.quantity.column, *results.metrics}
    names = sorted(map(str, frame), key=lambda name: (name not in results.shown, name not in shown))
    columns = tuple(_column(name, frame[name], name in shown) for name in names)
    rows = [tuple(map(_plain, row)) for row in zip(*(frame[name].tolist() for name in names), strict=True)]
    whole = len(rows) == len(results.cases)
    title = "All cases" if whole else f"The best {len(rows):,} of {len(results.cases):,} cases"
    return model.Table(columns, rows, title)


def _column(name: str, values: pd.Series[Any], shown: bool) -> model.Column:
    title = plain(name).replace("_", " ")
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return model.Column(name, title, "text", shown=shown)
    if name.endswith("_s") and "_per_" not in name and not name.startswith("metric_"):
        return model.Column(name, title.removesuffix(" s"), "time", shown=shown)
    if name.endswith("_bytes"):
        return model.Column(name, title.removesuffix(" bytes"), "bytes", shown=shown)
    unit = QUANTITIES[name].unit if name in QUANTITIES else ""
    unit = unit or next((unit for end, unit in _UNITS if name.endswith(end)), "")
    return model.Column(name, title, "number", unit, shown=shown)


def _plain(value: Any) -> model.Cell:
    """As JSON has it: none of pandas' and numpy's own."""
    if value is None or value is pd.NA or value != value:
        return None
    if isinstance(value, bool | int | float | str):
        return value
    return value.item() if hasattr(value, "item") else str(value)
