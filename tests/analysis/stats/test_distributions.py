"""Distributions: the same values as scipy over wide ranges, and as exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import example, given
from hypothesis import strategies as st

from hpcbench.analysis.stats.distributions import (
    binomial_cdf,
    f_tail,
    incomplete_beta,
    normal_cdf,
    normal_quantile,
    student_quantile,
    student_tail,
)

CLOSE = 1e-12
freedoms = st.one_of(st.integers(1, 200).map(float), st.floats(1, 1e7))
tails = st.floats(-40, math.log10(0.499)).map(lambda exponent: 10**exponent)


@given(freedoms, tails)
@example(1.0, 1e-40)
@example(1e7, 1e-40)
@example(1.5, 0.499)
@example(0.9999999999999999, 0.025)
def test_quantiles_of_students_t_are_those_of_scipy(freedom: float, tail: float) -> None:
    expected = float(scipy.stats.t.isf(tail, freedom))
    assert student_quantile(freedom, tail) == pytest.approx(-expected, rel=CLOSE)
    if tail > 1e-3:  # closer to 1, the probability itself is rounded
        above = float(scipy.stats.t.isf(1 - (1 - tail), freedom))
        assert student_quantile(freedom, 1 - tail) == pytest.approx(above, rel=CLOSE)


def test_quantiles_of_students_t_as_printed_in_tables() -> None:
    """Abramowitz and Stegun, table 26.10, for two-sided 95 % and 99 %; with one degree of freedom it is a tangent."""
    assert [round(student_quantile(freedom, 0.975), 3) for freedom in (1, 2, 5, 30, 120)] == [
        *(12.706, 4.303, 2.571, 2.042, 1.980)
    ]
    assert [round(student_quantile(freedom, 0.995), 3) for freedom in (1, 2, 5, 30, 120)] == [
        *(63.657, 9.925, 4.032, 2.750, 2.617)
    ]
    assert student_quantile(1, 0.9) == pytest.approx(math.tan(0.4 * math.pi), rel=CLOSE)


def test_the_median_of_students_t_is_0_and_its_quantiles_are_symmetric() -> None:
    assert student_quantile(3, 0.5) == 0
    assert student_quantile(3, 0.25) == -student_quantile(3, 0.75)


def test_unknown_degrees_of_freedom_make_an_unknown_quantile() -> None:
    assert math.isnan(student_quantile(math.nan, 0.975))
    assert math.isnan(student_tail(math.nan, 1.0))


@given(freedoms, st.floats(0.01, 60))
def test_tails_of_students_t_are_those_of_scipy(freedom: float, value: float) -> None:
    """From 0.01 on: for 1.5e-5, scipy's are wrong by 8e-13."""
    expected = float(scipy.stats.t.sf(value, freedom))
    assert student_tail(freedom, value) == pytest.approx(expected, rel=CLOSE, abs=1e-290)


@given(st.floats(-12, 8).map(lambda exponent: 10**exponent))
@example(0.0)
@example(1.53e-5)
def test_tails_of_students_t_with_one_and_two_degrees_of_freedom_have_a_formula(value: float) -> None:
    """Abramowitz and Stegun, 26.7.3 and 26.7.4; for large values in the form that does not cancel."""
    one = math.atan2(1, value) / math.pi
    root = math.sqrt(2 + value**2)
    two = 1 / (root * (root + value))
    assert student_tail(1, value) == pytest.approx(one, rel=1e-14)
    assert student_tail(2, value) == pytest.approx(two, rel=1e-14)


def test_infinite_values_are_never_exceeded() -> None:
    assert student_tail(4, math.inf) == 0
    assert f_tail(3, 10, math.inf) == 0
    assert f_tail(3, 10, 0.0) == 1


@given(st.integers(1, 100), st.integers(1, 100_000), st.floats(-4, 3).map(lambda exponent: 10**exponent))
def test_tails_of_fishers_f_are_those_of_scipy(numerator: int, denominator: int, value: float) -> None:
    """Within what scipy is wrong: up to 2e-13 as compared with 40 digits, and it is 0 for some values below 1e-250."""
    expected = float(scipy.stats.f.sf(value, numerator, denominator))
    assert f_tail(numerator, denominator, value) == pytest.approx(expected, rel=1e-11, abs=1e-200)


@given(st.floats(0.3, 500), st.floats(0.3, 500), st.floats(0.001, 0.999))
def test_the_incomplete_beta_function_is_that_of_scipy(a: float, b: float, x: float) -> None:
    expected = float(scipy.special.betainc(a, b, x))
    assert incomplete_beta(a, b, x, 1 - x) == pytest.approx(expected, rel=1e-11, abs=1e-200)


@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 4), (20, 5), (60, 80)])
@pytest.mark.parametrize("x", [0.125, 0.5, 0.9375])
def test_the_incomplete_beta_function_of_whole_numbers_is_a_binomial_sum(a: int, b: int, x: float) -> None:
    exact, trials = Fraction(x), a + b - 1
    terms = (math.comb(trials, k) * exact**k * (1 - exact) ** (trials - k) for k in range(a, trials + 1))
    assert incomplete_beta(a, b, x, 1 - x) == pytest.approx(float(sum(terms)), rel=1e-14)


@given(st.floats(-35, 8))
def test_normal_probabilities_are_those_of_scipy(value: float) -> None:
    assert normal_cdf(value) == pytest.approx(float(scipy.special.ndtr(value)), rel=CLOSE)


@given(st.floats(-300, math.log10(0.499)).map(lambda exponent: 10**exponent))
def test_normal_quantiles_are_those_of_scipy(tail: float) -> None:
    assert normal_quantile(tail) == pytest.approx(float(scipy.special.ndtri(tail)), rel=CLOSE)
    above = 1 - max(tail, 1e-16)
    assert normal_quantile(above) == pytest.approx(float(scipy.special.ndtri(above)), rel=CLOSE)


@pytest.mark.parametrize("chance", [0.5, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("trials", [1, 2, 29, 300, 3000])
def test_binomial_probabilities_are_exact(trials: int, chance: float) -> None:
    success, failure = Fraction(chance), Fraction(1 - chance)
    found, total = binomial_cdf(trials, chance), (success + failure) ** trials
    below, places = Fraction(0), range(trials + 1)
    for k in places if trials < 500 else places[-20:]:
        below = below + math.comb(trials, k) * success**k * failure ** (trials - k) / total
        if trials < 500:
            assert found[k] == pytest.approx(float(below), rel=1e-13, abs=1e-290)
        else:
            assert found[k] - found[places[-21]] == pytest.approx(float(below), rel=CLOSE)
    assert found.size == trials + 1
    assert found[-1] == 1


@given(st.integers(1, 20_000), st.floats(0.001, 0.999))
def test_binomial_probabilities_are_those_of_scipy(trials: int, chance: float) -> None:
    """Within what scipy is wrong: up to 2e-10 as compared with 40 digits."""
    expected = scipy.special.bdtr(np.arange(trials + 1), trials, chance)
    np.testing.assert_allclose(binomial_cdf(trials, chance), expected, rtol=1e-9, atol=1e-280)
