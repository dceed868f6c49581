"""The predictions of a sweep that has not run, as columns of text, and the reasons of cases without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pandas as pd

from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.report.text.numbers import PREDICTION_INTERVAL, between, column_format
from hpcbench.report.text.text_columns import NEVER, Column
from hpcbench.store.predictions import CasePrediction, Estimate, SweepPredictions
from hpcbench.util.text import plural

MAX_NAMED = 4


class _Shown(NamedTuple):
    """A quantity of a table: how to get it from a case, and its Column.gives_way."""

    quantity: Quantity
    of: Callable[[CasePrediction], Estimate | None]
    gives_way: int


_SHOWN = (
    _Shown(Quantity("time_s", "step time", "s"), lambda case: case.time_s, NEVER),
    _Shown(Quantity("power_w", "power", "W"), lambda case: case.power_w, 2),
    _Shown(Quantity("energy_j", "energy per step", "J"), lambda case: case.energy_j, 1),
    _Shown(Quantity("memory_bytes", "memory", "B"), lambda case: case.memory_bytes, 3),
)


def planned_columns(cases: Sequence[CasePrediction]) -> list[Column]:
    """Return the columns of predicted cases: case, device, and each quantity that any of them has, with its interval.

    The interval of the memory is left out, since it is not calibrated.
    """
    columns = [
        Column("case", tuple(each.case for each in cases), identifies=True, is_text=True),
        Column("predicted on", tuple(each.device or "-" for each in cases), is_text=True),
    ]
    for shown in _SHOWN:
        found = [shown.of(case) for case in cases]
        if not any(found):
            continue
        values = pd.Series([float("nan") if each is None else each.value for each in found])
        unit, written = column_format(shown.quantity, values)
        title = f"{shown.quantity.title} ({unit})" if unit else shown.quantity.title
        columns.append(Column(title, tuple(map(written, values)), shown.gives_way))
        if shown.quantity.column != "memory_bytes":
            limits = tuple("" if each is None else between(each.low, each.high, written) for each in found)
            columns.append(Column(PREDICTION_INTERVAL, limits, shown.gives_way, is_interval=True))
    return columns


def reasons(predictions: SweepPredictions) -> list[str]:
    """Return why cases have no time, with the IDs of the first of them: `not predicted: c1, c2: REASON`."""
    cases: dict[str, list[str]] = {}
    for each in predictions.cases:
        if each.time_s is None:
            cases.setdefault(each.reason or "unknown reason", []).append(each.case)
    return [f"not predicted: {_named(found)}: {reason}" for reason, found in cases.items()]


def _named(cases: Sequence[str]) -> str:
    more = len(cases) - MAX_NAMED
    return ", ".join(cases[:MAX_NAMED]) + (f" and {plural(more, 'other case')}" if more > 0 else "")
