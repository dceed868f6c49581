"""Non-negative least squares: the same fits as scipy, which does one problem at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from hpcbench.analysis.stats.nonnegative_fits import nonnegative_fits


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("rows", [3, 4, 9])
def test_they_are_those_of_scipy(rows: int, columns: int) -> None:
    designs = np.random.default_rng(rows).normal(0.2, 1, (500, rows, columns))
    found = nonnegative_fits(designs)
    expected = np.array([nnls(design, np.ones(rows))[0] for design in designs])
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)
    np.testing.assert_array_equal(found == 0, expected == 0)
    assert len({tuple(each) for each in found > 0}) == 2**columns  # each subset of columns is best for some


def test_what_can_only_make_it_worse_is_left_out() -> None:
    designs = np.array([[[-1.0], [-2.0]], [[1.0], [1.0]]])
    assert nonnegative_fits(designs) == pytest.approx(np.array([[0.0], [1.0]]), rel=1e-14, abs=0)


def test_equal_columns_are_fitted_once() -> None:
    assert nonnegative_fits(np.ones((1, 3, 2))).sum() == pytest.approx(1)
