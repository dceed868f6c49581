"""Trees as text."""

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.time.boosted import Growth, Trees, fit_trees

pytest.importorskip("lightgbm")


@pytest.fixture(scope="module")
def features() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).uniform(-1, 1, (2000, 2)), columns=["x", "y"])


def test_trees_follow_a_law_and_survive_as_text(features: pd.DataFrame) -> None:
    target = features["x"].to_numpy() + 0.5 * (features["y"].to_numpy() > 0)
    found = fit_trees(features, target, np.ones(2000), ("x", "y"), Growth(300, 31, 5))
    assert np.abs(found.predict(features) - target).mean() < 0.05
    again = Trees.from_json(found.to_json())
    assert again.predict(features) == pytest.approx(found.predict(features), abs=0)
    assert "tree_sizes" not in found.text


def test_outliers_count_little(features: pd.DataFrame) -> None:
    target = np.zeros(2000)
    target[::10] = 5.0
    found = fit_trees(features, target, np.ones(2000), ("x", "y"), Growth(50, 4, 200))
    assert np.abs(np.median(found.predict(features))) < 0.1


def test_the_value_falls_with_a_falling_feature(features: pd.DataFrame) -> None:
    target = np.sin(6 * features["x"].to_numpy())
    found = fit_trees(features, target, np.ones(2000), ("x", "y"), Growth(50, 31, 5, ("x",)))
    line = pd.DataFrame({"x": np.linspace(-1, 1, 50), "y": 0.0})
    assert (np.diff(found.predict(line)) <= 1e-12).all()


def test_a_ridge_shrinks_leaves_with_few_rows() -> None:
    """20 rows of each leaf have the value 0.1 or -0.1. The ridge counts as 20 more, whose value is 0."""
    features = pd.DataFrame({"x": [0.0] * 20 + [1.0] * 20})
    target = np.repeat([-0.1, 0.1], 20)
    found = [
        fit_trees(features, target, np.ones(40), ("x",), Growth(1, 2, 5, ridge=ridge)).predict(features)[-1]
        for ridge in (0.0, 20.0)
    ]
    assert 0 < found[1] < 0.7 * found[0]
