"""The shortest times of calls."""

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.tables import operators as table
from hpcbench.predict.time.floors import fit_floors, floor_keys


def test_a_function_of_two_tensors_has_another_floor_than_that_of_a_tensor_and_a_number() -> None:
    rows = table.complete(
        pd.DataFrame({"kind": table.POINTWISE, "function": ["add", "add", "relu"], "inputs": [2.0, 1.0, 1.0]})
    )
    same = [pd.Series([value] * 3) for value in ("pointwise", "float32", table.CALL)]
    keys = floor_keys(rows, *same)
    assert keys.nunique() == 3
    times = np.array([27e-6, 32e-6, 31e-6])
    found = fit_floors(pd.Series(["gpu"] * 300), pd.concat([keys] * 100, ignore_index=True), *floors_of(times))
    factors = np.exp(found.log_factor(pd.Series(["gpu"] * 3), keys))
    assert 30e-6 * factors == pytest.approx(times, rel=1e-3)


def floors_of(times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times, bounds and priors of a hundred rows of each floor."""
    return np.tile(times, 100), np.full(300, 1e-6), np.full(300, 30e-6)
