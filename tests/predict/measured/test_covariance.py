"""The covariance of operators on the same CPUs."""

from __future__ import annotations

import numpy as np
import pytest

from hpcbench.predict.measured.covariance import OF_OPERATORS, Covariance, Points


def points(
    kinds: list[str], functions: list[str], threads: list[float], calls: list[bool], sizes: list[float]
) -> Points:
    """Operators with one size each."""
    return Points(
        np.array(kinds),
        np.array(functions),
        np.array(threads),
        np.array(calls),
        np.reshape(sizes, (-1, 1)).astype(float),
    )


SEVERAL = points(["gemm", "gemm", "conv"], ["linear", "bmm", "conv2d"], [2, 1, 2], [False, True, True], [3, 9, 5])


def test_the_variance_is_the_covariance_with_itself() -> None:
    covariance = OF_OPERATORS.between(SEVERAL, SEVERAL, SEVERAL.centre)
    assert OF_OPERATORS.variance(SEVERAL, SEVERAL.centre) == pytest.approx(np.diag(covariance))
    assert covariance == pytest.approx(covariance.T)
    assert (np.linalg.eigvalsh(covariance) > 0).all()


def test_the_centre_is_the_median_size() -> None:
    assert SEVERAL.centre == pytest.approx([5.0])


@pytest.mark.parametrize(
    ("changed", "shared"),
    [
        ({"kinds": ["conv"], "functions": ["conv2d"]}, ("device", "threads")),
        ({"functions": ["bmm"]}, ("device", "threads", "kind", "threads_of_kind", "size_of_kind")),
        ({"threads": [1.0]}, ("device", "kind", "size_of_kind", "function", "size_of_function")),
    ],
)
def test_two_operators_covary_by_what_they_share(changed: dict[str, list[object]], shared: tuple[str, ...]) -> None:
    one = {"kinds": ["gemm"], "functions": ["linear"], "threads": [2.0], "calls": [False], "sizes": [4.0]}
    first, other = points(**one), points(**{**one, **changed})  # type: ignore[arg-type]
    expected = sum(getattr(Covariance(), name) ** 2 for name in shared)
    assert OF_OPERATORS.between(first, other, np.array([4.0]))[0, 0] == pytest.approx(expected)
