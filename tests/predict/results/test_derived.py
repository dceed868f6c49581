"""Throughput, price and emissions of predictions, with numbers by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from hpcbench.config.pricing import Price
from hpcbench.predict.devices.device import CPU, Device
from hpcbench.predict.results import table
from tests.report.predictor.made_predictions import made_predictions, question


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


@pytest.mark.parametrize(("threads", "cores"), [(math.nan, 64), (1, 3), (8, 8), (65, 64)])
def test_the_price_on_cpus_is_that_of_the_cores_of_the_task_and_at_least_of_those_predicted(
    threads: float, cores: int
) -> None:
    cpus = Device("a100-pcie-40", "AMD", "Zen", 2022, 64, 3000, 5e12, 768e9, 460e9, 2**28, 360, kind=CPU)
    asked = question(1, states=(), devices=("a100-pcie-40", "l40s"))
    cases = asked.cases.assign(threads=threads, cores=3)
    prices = dict.fromkeys(asked.prices, lambda own: Price(own * 0.01))
    made = made_predictions(replace(asked, cases=cases, prices=prices, devices={"a100-pcie-40": cpus}))
    on_cpus, on_gpu = (row for _, row in made.results.iterrows())
    assert on_cpus[table.PRICE] == pytest.approx(1e6 / 8 * 0.1 * cores * 0.01 / 3600)
    assert on_gpu[table.PRICE] == pytest.approx(1e6 / 8 * 0.058 * 3 * 0.01 / 3600)
