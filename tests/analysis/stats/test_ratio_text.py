"""Ratios in words."""

from __future__ import annotations

import math

import pytest

from hpcbench.analysis.stats.intervals import Interval
from hpcbench.analysis.stats.ratio_text import in_brackets, percent, times


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1.0, "1.00x"),
        (1.344, "1.34x"),
        (9.999, "10x"),
        (12.34, "12.3x"),
        (999.4, "999x"),
        (999.9, "1,000x"),
        (9.89e6, "9,890,000x"),
        (1e20, "1e+20x"),
        (0.1, "0.10x"),
        (0.0049, "0.0049x"),
        (0.0, "0x"),
        (math.inf, "infx"),
        (math.nan, "-"),
    ],
)
def test_a_ratio_has_three_digits_and_no_power_of_ten_that_people_can_read_without(ratio: float, text: str) -> None:
    assert times(ratio) == text


def test_limits_stand_in_brackets_where_they_are_known() -> None:
    assert in_brackets(Interval(1.34, 1.29, 1.38)) == "1.34x [1.29, 1.38]"
    assert in_brackets(Interval(1234.5, 999.6, 2000.0)) == "1,234x [1,000, 2,000]"
    assert in_brackets(Interval(1.34, None, None)) == "1.34x"
    assert in_brackets(Interval(1.0031, 1.0021, 1.0042)) == "1.0031x [1.0021, 1.0042]"
    assert in_brackets(Interval(1.0, 1.0, 1.0)) == "1.00x [1.00, 1.00]"
    assert in_brackets(Interval(1.0031, 1.0021, 1.02)) == "1.00x [1.00, 1.02]"


def test_a_part_is_in_whole_percent() -> None:
    assert percent(0.345) == "34 %"
