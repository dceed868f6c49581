"""Non-negative least squares with a prior."""

import numpy as np
import pytest

from hpcbench.predict.power.least_squares import nonnegative, relative

RNG = np.random.default_rng(0)
MATRIX = RNG.uniform(0.1, 1.0, size=(200, 3))


def test_exact_data_give_their_coefficients() -> None:
    real = np.array([0.5, 2.0, 1.0])
    found = nonnegative(MATRIX, MATRIX @ real, prior=np.ones(3), strength=1e-9)
    assert found == pytest.approx(real, rel=1e-3)


def test_a_coefficient_that_would_be_negative_is_zero() -> None:
    found = nonnegative(MATRIX, MATRIX @ np.array([1.0, -0.5, 1.0]), prior=np.ones(3), strength=1e-9)
    assert found[1] == 0.0
    assert (found >= 0).all()


def test_without_rows_the_prior_remains() -> None:
    prior = np.array([0.2, 3.0])
    assert nonnegative(np.zeros((0, 2)), np.zeros(0), prior, strength=1.0) == pytest.approx(prior)


def test_a_strong_prior_outweighs_few_rows() -> None:
    found = nonnegative(np.eye(2), np.array([3.0, 3.0]), prior=np.array([1.0, 1.0]), strength=1.0)
    assert found == pytest.approx([2.0, 2.0])  # halfway: one row and one prior of equal weight


def test_a_coefficient_whose_prior_is_zero_stays_zero() -> None:
    real = np.array([0.5, 2.0, 1.0])
    with np.errstate(divide="raise", invalid="raise"):
        found = nonnegative(MATRIX, MATRIX @ real, prior=np.array([1.0, 0.0, 1.0]), strength=0.03)
    assert found[1] == pytest.approx(0.0, abs=1e-6)
    assert (found[[0, 2]] > 0.5).all()


def test_contradictory_rows_do_not_decide() -> None:
    real = np.array([0.5, 2.0, 1.0])
    target = MATRIX @ real
    target[::10] /= 4.0
    found = relative(MATRIX, target, np.ones(3), 1e-6, np.ones(len(target)))
    assert found == pytest.approx(real, rel=0.05)
