"""Prediction intervals of new rows, of devices that a fit saw and of others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.calibration.intervals import ALL, Calibration, Expected, calibrated


def _drawn(seed: int, clusters: int, rows: int, effect: float, rest: float) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    names = np.repeat([f"device {place}" for place in range(clusters)], rows)
    effects = np.repeat(random.normal(0, effect, clusters), rows)
    spread = random.uniform(0.5, 2.0, clusters * rows)
    errors = effects + random.normal(0, rest, clusters * rows) * spread
    return pd.DataFrame({"error": errors, "spread": spread, "group": "gemm", "cluster": names})


def _coverage(shared: bool, effect: float) -> float:
    covered = []
    for seed in range(200):
        drawn = _drawn(seed, 6, 100, effect, 0.1)
        known = drawn if not shared else drawn[drawn["cluster"] != "device 0"]
        new = drawn[drawn["cluster"] == "device 0"]
        width = calibrated(known, shared).half_width(new["group"], new["spread"].to_numpy())
        covered.append(float((new["error"].abs() <= width).mean()))
    return float(np.mean(covered))


def test_intervals_cover_a_new_device_as_often_as_promised() -> None:
    assert 0.87 <= _coverage(shared=True, effect=0.2) <= 0.97


def test_intervals_of_rows_alone_do_not_cover_a_new_device() -> None:
    drawn = _drawn(1, 40, 100, 0.3, 0.05)
    known, new = drawn[drawn["cluster"] != "device 7"], drawn[drawn["cluster"] == "device 7"]
    alone, shared = calibrated(known, shared=False), calibrated(known)
    assert shared.cluster > 0.4 > alone.cluster == 0.0
    assert shared.half_width(new["group"], new["spread"].to_numpy()).min() > 0.4


def test_intervals_of_known_devices_cover_as_often_as_promised() -> None:
    assert 0.87 <= _coverage(shared=False, effect=0.0) <= 0.93


def test_few_clusters_have_wide_intervals() -> None:
    """Two effects of 0.1 and -0.1: scale 0.1 x sqrt(1.5), times the t of 0.95 with 2 degrees of freedom, 2.92."""
    frame = pd.DataFrame({"error": [0.1, -0.1], "spread": 1.0, "group": "gemm", "cluster": ["a", "b"]})
    assert calibrated(frame).cluster == pytest.approx(0.1 * 1.5**0.5 * 2.91999, rel=1e-4)


def test_expected_effects_count_as_clusters() -> None:
    """Two effects of 0.1, and 0.2 as from four clusters: variance 0.03; t of 0.95 with 6 degrees of freedom."""
    frame = pd.DataFrame({"error": [0.1, -0.1], "spread": 1.0, "group": "gemm", "cluster": ["a", "b"]})
    found = calibrated(frame, expected=Expected(0.2, 4.0)).cluster
    assert found == pytest.approx((0.03 * (1 + 1 / 6)) ** 0.5 * 1.94318, rel=1e-4)


def test_a_small_group_has_the_quantile_of_all_rows() -> None:
    many = pd.DataFrame({"error": np.linspace(-1, 1, 200), "spread": 1.0, "group": "gemm", "cluster": "a"})
    few = pd.DataFrame({"error": [5.0], "spread": 1.0, "group": "conv", "cluster": "a"})
    found = calibrated(pd.concat([many, few]), shared=False)
    assert set(found.quantiles) == {"gemm", ALL}
    assert found.half_width(pd.Series(["conv"]), np.array([1.0]))[0] == found.quantiles[ALL]


def test_the_cluster_and_the_rest_add_up_in_quadrature() -> None:
    found = Calibration(3, 0.3, {ALL: 2.0})
    assert found.half_width(pd.Series(["gemm"]), np.array([0.2]))[0] == pytest.approx(0.5)


def test_no_errors_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one prediction error"):
        calibrated(pd.DataFrame(columns=["error", "spread", "group", "cluster"]))
