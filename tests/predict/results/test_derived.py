"""Throughput, price and emissions of predictions, with numbers by hand."""

from __future__ import annotations

import pytest

from hpcbench.predict.results import table
from tests.report.predictor.made_predictions import made_predictions


def test_derived_quantities_follow_from_time_and_energy() -> None:
    row = made_predictions().results.iloc[0]  # 8 images in 0.1 s and 23 J on the a100, for 3.6 EUR an hour
    assert row[table.THROUGHPUT] == pytest.approx(80)
    assert row[table.limits_of(table.THROUGHPUT)[0]] == pytest.approx(80 / 1.1)
    assert row[table.limits_of(table.THROUGHPUT)[1]] == pytest.approx(80 * 1.1)
    assert row[table.PRICE] == pytest.approx(1e6 / 80 * 3.6 / 3600)
    assert row[table.EMISSIONS] == pytest.approx(23 * 1e6 / 8 / 3.6e6 * 360)
    assert row[table.MEMORY] == 2.0**31


def test_a_case_without_known_operators_has_no_memory() -> None:
    rows = made_predictions().results
    other = rows[rows["case"] == "c2"].iloc[0]
    assert "memory not predicted: the operators or weights of the network are unknown" in other["missing"]


def test_refused_rows_have_no_derived_quantities() -> None:
    rows = made_predictions().refused
    assert set(rows["device"]) == {"unknown-device"}
    assert rows[[*table.QUANTITIES]].isna().all(axis=None)
    assert (rows["missing"] == "").all()
