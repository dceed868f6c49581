"""Numbers of a column: fixed decimals, or significant digits for very different magnitudes."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from hpcbench.analysis.cases.quantities import TIME, Quantity
from hpcbench.report.text.numbers import between, column_format

RATE = Quantity("metric_bandwidth", "bandwidth", "MB/s", more_is_better=True)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([1.5, 20.25, 999.9], ["1.50", "20.25", "999.90"]),
        ([0.5, 500.0], ["0.500", "500.000"]),
        ([0.000251, 260.794, 0.0, -3.2], ["0.0002510", "260.8", "0", "-3.200"]),
        ([1.5, 1234567.8, math.nan, math.inf], ["1.500", "1,234,568", "-", "inf"]),
        ([2.51e-9, 3e-9], ["2.510e-09", "3.000e-09"]),
    ],
)
def test_values_of_one_magnitude_have_the_same_decimals_others_the_same_digits(
    values: list[float], texts: list[str]
) -> None:
    unit, written = column_format(RATE, pd.Series(values))
    assert (unit, list(map(written, values))) == ("MB/s", texts)


def test_an_interval_has_the_digits_of_its_column() -> None:
    _, written = column_format(RATE, pd.Series([0.000251, 260.794]))
    assert between(0.00024, 0.00026, written) == "0.0002400 - 0.0002600"
    assert between(255.1, 266.66, written) == "255.1 - 266.7"


def test_times_have_the_unit_of_the_median_and_the_digits_of_each() -> None:
    unit, written = column_format(TIME, pd.Series([2e-6, 2.0, 3.5]))
    assert (unit, written(2e-6), written(3.5)) == ("s", "0.000002000", "3.500")


def test_a_column_has_the_unit_of_the_one_beside_it_and_its_own_decimals() -> None:
    unit, written = column_format(TIME, pd.Series([0.0075, 0.022]), pd.Series([0.7, 0.9]))
    assert (unit, written(0.0075)) == ("ms", "7.50")
    unit, written = column_format(TIME, pd.Series([0.0005, 0.022]), pd.Series([0.002, 0.003]))
    assert (unit, written(0.0005)) == ("ms", "0.500")
    assert column_format(TIME, pd.Series([7e-6]), pd.Series([math.nan]))[0] == "us"
