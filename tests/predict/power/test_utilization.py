"""Power from utilization."""

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.power.activity import COLUMNS
from hpcbench.predict.power.utilization import PRIOR, fit, terms
from hpcbench.predict.power.voltage import Voltage

CURVE = Voltage(knee=0.5, floor=0.5)


def activities(**columns: list[float]) -> pd.DataFrame:
    count = len(next(iter(columns.values())))
    return pd.DataFrame({name: columns.get(name, [0.0] * count) for name in COLUMNS})


def test_terms_are_utilizations_times_the_squared_voltage() -> None:
    found = terms(activities(matrix_s=[1.0], memory_s=[3.0]), np.array([4.0]), np.array([0.5]), CURVE)
    # V = 0.5, f = 0.5: idle 1, clock V^2 f = 0.125, matrix V^2 / 4 = 0.0625, memory 3 / 4.
    assert found[0] == pytest.approx([1.0, 0.125, 0.0625, 0.0, 0.0, 0.0, 0.75])


def test_rows_at_the_limit_count_only_as_lower_bounds() -> None:
    used = np.linspace(0.05, 1.0, 40)
    work = activities(matrix_s=list(used), memory_s=[0.0] * 40)
    matrix = terms(work, np.ones(40), np.ones(40), CURVE)
    full = 0.2 + 0.05 + 1.5 * used
    found = fit(matrix, np.minimum(full, 0.95), np.ones(40), PRIOR, 1e-4)
    assert found[0] + found[1] == pytest.approx(0.25, abs=0.02)
    assert found[2] == pytest.approx(1.5, rel=0.05)
