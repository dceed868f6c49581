"""Prediction intervals of new rows, of devices that a fit saw and of others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.calibration import stored
from hpcbench.predict.calibration.intervals import ALL, Calibration, Expected, calibrated, calibrated_by_group, new_draw


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


def _slow_for_convolutions(clusters: int) -> pd.DataFrame:
    """Return errors of devices that share an error of 0.02 or -0.02 in products, and of 0.4 or -0.4 in convolutions."""
    drawn = [_drawn(place, 1, 50, 0.0, 0.01).assign(cluster=f"device {place}") for place in range(2 * clusters)]
    tables = [
        each.assign(group=group, error=each["error"] + sign * size)
        for place, each in enumerate(drawn)
        for sign in [(-1) ** place]
        for group, size in (("gemm", 0.02), ("conv", 0.4))
    ]
    return pd.concat(tables, ignore_index=True)


def test_clusters_have_an_effect_in_each_group() -> None:
    """Four effects of 0.4 and -0.4, of a scale of 0.4 x sqrt(1.25), times the t of 0.95 with 4 degrees of freedom."""
    errors = _slow_for_convolutions(2)
    found = calibrated_by_group(errors, Expected(0.0, 0.0))
    assert found.effects["conv"] == pytest.approx(0.4 * 1.25**0.5 * 2.13185, rel=0.02)
    assert found.effects["gemm"] == pytest.approx(0.02 * 1.25**0.5 * 2.13185, rel=0.2)
    widths = found.half_width(pd.Series(["conv", "gemm", "other"]), np.array([1e-6, 1e-6, 1e-6]))
    assert widths[:2] == pytest.approx([found.effects["conv"], found.effects["gemm"]])
    assert widths[2] == pytest.approx(found.cluster)
    assert stored.from_json(stored.to_json(found)) == found


def test_effects_of_a_group_do_not_count_as_errors_of_rows() -> None:
    errors = _slow_for_convolutions(2)
    shared, alone = calibrated_by_group(errors, Expected(0.0, 0.0)), calibrated(errors, shared=False)
    assert shared.quantiles["conv"] < 0.05 < 0.2 < alone.quantiles["conv"]


def test_expected_effects_of_groups_count_as_clusters() -> None:
    one = _drawn(1, 1, 50, 0.0, 0.01)
    effects = calibrated_by_group(one, Expected(0.15, 4.0)).effects
    assert effects["gemm"] == pytest.approx(new_draw(np.array([one["error"].median()]), Expected(0.15, 4.0)))


def test_clusters_with_many_rows_of_other_groups_count_equally_in_a_group() -> None:
    """One of two devices has five times as many rows in all, but as many rows of products as the other."""
    small, large = (_drawn(seed, 1, 100, 0.0, rest).assign(cluster=f"{seed}") for seed, rest in ((1, 0.01), (2, 0.1)))
    other = pd.concat([large.assign(group="conv")] * 4)
    found = calibrated_by_group(pd.concat([small, large, other], ignore_index=True), Expected(0.15, 4.0))
    without = calibrated_by_group(pd.concat([small, large], ignore_index=True), Expected(0.15, 4.0))
    assert found.quantiles["gemm"] == pytest.approx(without.quantiles["gemm"])


def test_no_errors_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one prediction error"):
        calibrated(pd.DataFrame(columns=["error", "spread", "group", "cluster"]))
