"""Kriging: at measured points, near them, and far from them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hpcbench.predict.measured.covariance import OF_OPERATORS, Points
from hpcbench.predict.measured.kriging import Kriging
from hpcbench.predict.tables.prediction import Floats


def points(sizes: Floats, kind: str = "gemm", threads: float = 2.0, is_call: bool = False) -> Points:
    """Operators of one kind with one size each."""
    count = len(sizes)
    kinds = np.array([kind] * count)
    return Points(kinds, kinds, np.full(count, threads), np.full(count, is_call), np.reshape(sizes, (-1, 1)))


SIZES = np.linspace(4.0, 12.0, 30)


def test_one_point_is_shrunk_by_its_noise() -> None:
    """With one point, the mean is v / (v + noise^2) times its value: equation 2.25 with n = 1; v is the sum of the
    squares of what an operator has in common with itself."""
    at = points(np.array([8.0]))
    mean, deviation = Kriging(at, np.array([0.7])).predict(at)
    of = OF_OPERATORS
    common = (of.device, of.kind, of.function, of.threads, of.threads_of_kind, of.size_of_kind, of.size_of_function)
    variance = sum(each**2 for each in common)
    assert mean[0] == pytest.approx(0.7 * variance / (variance + of.noise**2))
    left = variance - variance**2 / (variance + of.noise**2)
    assert deviation[0] == pytest.approx(np.sqrt(left + of.noise**2))


def test_values_between_measured_sizes_are_interpolated() -> None:
    rest = 0.1 * SIZES
    mean, _ = Kriging(points(SIZES), rest).predict(points(np.array([5.1, 9.3])))
    assert mean == pytest.approx([0.51, 0.93], abs=0.03)


def test_other_kinds_share_only_what_the_device_has_in_common() -> None:
    model = Kriging(points(SIZES), np.full(30, 0.6))
    (same,), (near,) = model.predict(points(np.array([8.0])))
    (other,), (far,) = model.predict(points(np.array([8.0]), "softmax"))
    assert 0 < other < same
    assert far > 2 * near


def test_the_deviation_grows_with_the_distance() -> None:
    _, deviation = Kriging(points(SIZES), np.full(30, 0.6)).predict(points(np.array([8.0, 16.0, 24.0])))
    assert np.all(np.diff(deviation) > 0.05)


def test_calls_in_a_loop_do_not_shift_operators_in_a_network() -> None:
    """A deviation of calls in a loop applies only in part to operators inside a network."""
    in_network = Kriging(points(SIZES), np.full(30, -0.5)).predict(points(np.array([8.0])))[0]
    from_calls = Kriging(points(SIZES, is_call=True), np.full(30, -0.5)).predict(points(np.array([8.0])))[0]
    assert in_network[0] < from_calls[0] < 0


def test_a_model_survives_json() -> None:
    model = Kriging(points(SIZES), 0.1 * SIZES)
    again = Kriging.from_json(json.loads(json.dumps(model.to_json())))
    asked = points(np.array([5.5, 20.0]))
    assert again.predict(asked)[0] == pytest.approx(model.predict(asked)[0], abs=1e-3)
