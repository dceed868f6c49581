"""What predicted times of networks rest on, with counts by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.networks.listed.measured import keys
from hpcbench.predict.results.network_basis import network_basis
from hpcbench.predict.results.table import OF_TIME
from hpcbench.predict.tables import operators as table
from hpcbench.predict.time.hull import Hull
from hpcbench.predict.time.model import PRIOR
from tests.predict.networks.listed.fleet_of_two import DEVICES, gemm, row_wise

TIME = replace(PRIOR, rows={"gemm|first": 40, "gemm|second": 20, "softmax|second": 7}, hulls={"gemm": Hull({})})
NETWORKS = {"first": 3}


def kernels(*operators: dict[str, object], device: str = "first") -> pd.DataFrame:
    """Return kernels of one network, each of 1 s."""
    rows = pd.DataFrame(list(operators)).assign(device=device, place=0, total_s=1.0)
    return rows.reindex(columns=list(dict.fromkeys((*rows.columns, *table.COLUMNS))))


def basis(found: pd.DataFrame, *measured: str) -> dict[str, float]:
    row = network_basis(found, 1, DEVICES, TIME, measured, NETWORKS).loc[0]
    return {str(name): float(value) for name, value in row.items()}


def test_measurements_of_the_kinds_in_a_network_and_of_networks_count() -> None:
    found = basis(kernels(gemm(64, 64, 64), row_wise(64, 64)))
    assert (found["basis_rows"], found["basis_devices"], found["device_rows"]) == (63, 2, 43)
    assert found["covered_fraction"] == pytest.approx(0.5)  # pointwise operators were not measured
    assert found["distance"] == 0


def test_operators_with_the_same_sizes_are_measured() -> None:
    rows = kernels(gemm(64, 64, 64), gemm(128, 64, 64))
    (key, _) = keys(table.complete(rows))
    assert basis(rows, key)["measured_fraction"] == pytest.approx(0.5)


def test_the_distance_is_a_mean_over_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hull, "distance", lambda self, features: np.array([0.0, 2.0]))
    rows = kernels(gemm(64, 64, 64), gemm(128, 64, 64)).assign(total_s=[1.0, 3.0])
    assert basis(rows)["distance"] == pytest.approx(1.5)


def test_a_network_without_kernels_rests_on_nothing() -> None:
    found = network_basis(pd.DataFrame(), 2, DEVICES, TIME, (), NETWORKS)
    assert list(found.columns) == list(OF_TIME)
    assert found["basis_rows"].tolist() == [0, 0]


def test_one_operator_counts_with_three_standard_deviations_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hull, "distance", lambda self, features: np.array([0.0, 1000.0]))
    assert basis(kernels(gemm(64, 64, 64), gemm(128, 64, 64)))["distance"] == pytest.approx(1.5)
