"""Bins by hand: the rule of Freedman and Diaconis, its fallback, the logarithmic axis, and what no histogram is of."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.analysis.stats.histogram import MAX_BINS, WIDE, Histogram, histogram


def of(*samples: float) -> Histogram:
    return histogram(np.array(samples))


def test_the_width_is_that_of_freedman_and_diaconis() -> None:
    """Of 1 to 8 the quartiles are 2.75 and 6.25: the width is 2 * 3.5 / cbrt(8) = 3.5, which fits twice into 7."""
    assert of(5, 1, 2, 8, 3, 4, 6, 7) == Histogram((1.0, 4.5, 8.0), (4, 4))


def test_where_most_samples_are_equal_there_are_as_many_bins_as_sturges_says() -> None:
    """ceil(log2 10) + 1 = 5."""
    found = of(*[1.0] * 8, 2.0, 3.0)
    assert found.edges == pytest.approx((1, 1.4, 1.8, 2.2, 2.6, 3))
    assert found.counts == (8, 0, 1, 0, 1)


def test_what_lies_far_apart_is_on_a_logarithmic_axis() -> None:
    """The logarithms are 0, 1, 2 and 3, twice each: the quartiles are 0.75 and 2.25, the width 2 * 1.5 / cbrt(8)."""
    found = of(1, 1, 10, 10, 100, 100, 1000, 1000)
    assert found.logarithmic
    assert found.edges == pytest.approx((1, 10**1.5, 1000))
    assert found.counts == (4, 4)


@pytest.mark.parametrize(("high", "logarithmic"), [(WIDE, True), (WIDE - 0.1, False)])
def test_how_far_apart_that_is(high: float, logarithmic: bool) -> None:
    assert of(1, 2, 3, high).logarithmic == logarithmic


def test_a_step_too_short_for_the_clock_has_no_logarithm() -> None:
    found = of(0, 1, 2, 1000)
    assert not found.logarithmic
    assert found.edges[0] == 0


@pytest.mark.parametrize("samples", [[3.0], [3.0] * 7])
def test_equal_samples_are_in_one_bin(samples: list[float]) -> None:
    assert of(*samples) == Histogram((3.0, 3.0), (len(samples),))
    assert of(*samples).bin_of(3.0) == 0


def test_outliers_and_many_samples_make_no_more_bins_than_may_be() -> None:
    many = np.random.default_rng(1).normal(1.0, 0.01, 100_000)
    many[:3] = 5.0
    found = histogram(many)
    assert len(found.counts) == MAX_BINS
    assert sum(found.counts) == 100_000


@pytest.mark.parametrize("samples", [[], [1.0, math.nan], [1.0, math.inf]])
def test_there_is_none_of_what_is_no_number(samples: list[float]) -> None:
    with pytest.raises(ValueError, match="requires measurements"):
        of(*samples)


def test_a_value_is_in_the_bin_that_it_was_counted_in() -> None:
    found = Histogram((1.0, 4.5, 8.0), (4, 4))
    assert [found.bin_of(value) for value in (1, 4.4, 4.5, 8)] == [0, 0, 1, 1]


@given(st.lists(st.floats(0, 1e300, allow_subnormal=True), min_size=1, max_size=60))
def test_each_sample_is_counted_once_whatever_they_are(samples: list[float]) -> None:
    found = of(*samples)
    assert sum(found.counts) == len(samples)
    assert 1 <= len(found.counts) <= MAX_BINS
    assert list(found.edges) == sorted(found.edges)
    assert (found.edges[0], found.edges[-1]) == (min(samples), max(samples))
