"""How far an axis goes: to the ends of the intervals, but not so far that one of them leaves no room for the rest."""

from __future__ import annotations

import pandas as pd
import pytest

from hpcbench.report.charts.components import reach


@pytest.mark.parametrize(
    ("values", "low", "high", "is_log", "ends"),
    [
        ([10.0, 20.0], [9.0, 19.0], [11.0, 22.0], False, [9, 22]),
        ([10.0, 20.0], [9.0, -500.0], [11.0, 900.0], False, [0, 30]),
        ([10.0, 10.0], [0.1, 9.0], [11.0, 99.0], False, [5, 15]),
        ([10.0, 20.0], [None, None], [None, None], False, [10, 20]),
        ([1.0, 100.0], [0.5, 90.0], [2.0, 110.0], True, [0.5, 110]),
        ([1.0, 100.0], [0.0, 90.0], [2.0, 1e9], True, [0.01, 10_000]),
        ([8.0], [1.0], [99.0], True, [4, 16]),
    ],
)
def test_the_axis_ends_where_it_should(
    values: list[float], low: list[float | None], high: list[float | None], is_log: bool, ends: list[float]
) -> None:
    columns = (pd.Series(column, dtype=float) for column in (values, low, high))
    assert reach(*columns, is_log=is_log) == pytest.approx(ends)
