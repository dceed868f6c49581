"""The model of the ratio of kernel time to bound."""

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.time.efficiency import Size, fit_efficiency
from hpcbench.predict.time.families import FEATURES, NAMED, NORM

SMALL, LARGE = -3.0, 3.0


@pytest.mark.parametrize(("largest", "expected"), [(-1.0, -1.0), (2.0, 0.5)])
def test_hidden_kernels_limit_the_estimate_of_the_trees_of_a_device(largest: float, expected: float) -> None:
    columns = np.tile([SMALL, LARGE], 300)
    features = pd.DataFrame(dict.fromkeys((*FEATURES[NORM], *NAMED, "cache", "function"), 0.0), index=range(600))
    features = features.assign(columns=columns)
    hides = columns == SMALL
    weights = np.where(hides, 0.0, 1.0)
    target = np.where(hides, largest, 0.5)
    model = fit_efficiency(NORM, features, pd.Series(["gpu|float32"] * 600), target, weights, Size())
    found = model.predict(features[:2], pd.Series(["gpu|float32"] * 2))
    assert found == pytest.approx([expected, 0.5], abs=0.1)
    assert model.rows == {"gpu|float32": 300}
