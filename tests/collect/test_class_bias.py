"""The chi-square test of the classes that ranks get, compared with scipy's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hpcbench.collect.class_bias import chi_square_tail, class_bias_columns, p_value


@pytest.mark.parametrize("freedom", [1, 2, 9, 99, 999])
@pytest.mark.parametrize("tail", [1e-12, 1e-3, 0.05, 0.5, 0.999])
def test_the_tail_is_that_of_scipy(freedom: int, tail: float) -> None:
    assert chi_square_tail(freedom, float(stats.chi2.isf(tail, freedom))) == pytest.approx(tail, rel=1e-9)


def test_the_p_value_is_that_of_scipy() -> None:
    counts, split = [20, 31, 49], [200, 300, 300]
    expected = np.array(split) / sum(split) * sum(counts)
    assert p_value(counts, split) == pytest.approx(stats.chisquare(counts, expected).pvalue)
    assert p_value([30, 0, 30], [10, 0, 10]) == 1.0, "a class that the data do not have"
    assert p_value([1, 1, 1], [10, 0, 10]) == 0.0


def test_labels_beyond_those_of_the_split_are_a_bias_and_no_counts_are_none() -> None:
    assert p_value([5, 5, 1], [10, 10]) == 0.0
    assert p_value([5, 5], [10, 10, 0]) == 1.0
    assert p_value([10], [10, 10]) == pytest.approx(stats.chisquare([10, 0], [5, 5]).pvalue)
    assert p_value([0, 0], [10, 10]) == p_value([], [10, 10]) == p_value([3, 4], []) == p_value([3], [0]) == 1.0


def test_the_smallest_value_counts_for_all_ranks_and_epochs() -> None:
    def column(*counts: list[list[int]]) -> Any:
        check = SimpleNamespace(class_counts=counts, split_class_counts=[50, 50])
        return class_bias_columns(SimpleNamespace(validation=SimpleNamespace(data=check)))["class_bias_p_value"]  # type: ignore[arg-type]

    even, skewed = [25, 25], [40, 10]
    assert column([even, even], [even, even]) == 1.0
    assert column([even, skewed]) == pytest.approx(2 * p_value(skewed, [50, 50]))
    assert column([even, even], [skewed, even]) == pytest.approx(4 * p_value(skewed, [50, 50])), "the second epoch"
    assert column([skewed], [skewed]) == pytest.approx(2 * p_value(skewed, [50, 50])), "not of the sum of both"
    assert column() is None
    assert class_bias_columns(SimpleNamespace(validation=None)) == {"class_bias_p_value": None}  # type: ignore[arg-type]
