"""The benchmark script that fits the covariance of operators."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from hpcbench.predict.measured.covariance import OF_OPERATORS, Points
from hpcbench.predict.measured.kriging import Kriging


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("scipy")
    return importlib.import_module("benchmarks.fit_covariance")


def drawn(noise: float, count: int = 60) -> Kriging:
    """Operators whose efficiencies have the present covariance, except for the noise."""
    generator = np.random.default_rng(0)
    kinds = np.array(["gemm", "conv"] * (count // 2))
    threads, calls = np.full(count, 2.0), np.full(count, False)
    points = Points(kinds, kinds, threads, calls, generator.uniform(0, 20, size=(count, 2)))
    covariance = OF_OPERATORS.between(points, points, points.centre) + np.eye(count) * noise**2
    return Kriging(points, generator.multivariate_normal(np.zeros(count), covariance))


def test_the_likelihood_is_that_of_a_normal_distribution(script: Any) -> None:
    from scipy.stats import multivariate_normal

    measured = drawn(noise=0.2)
    covariance = OF_OPERATORS.measured(measured.points)
    expected = multivariate_normal.logpdf(measured.rest, np.zeros(60), covariance)
    constant = -30 * np.log(2 * np.pi)
    assert script.log_likelihood(OF_OPERATORS, measured) == pytest.approx(expected - constant)


def test_the_most_likely_noise_is_that_of_the_data(script: Any) -> None:
    found = script.most_likely([drawn(noise=0.6)])
    assert found.noise == pytest.approx(0.6, rel=0.3)
    assert found.noise > 2 * OF_OPERATORS.noise


def test_operators_far_from_their_prediction_are_left_out(script: Any) -> None:
    measured = drawn(noise=0.2)
    measured.rest[7] += 5.0
    kept = script.without_outliers(measured)
    assert len(kept.rest) == 54
    assert measured.rest[7] not in kept.rest
