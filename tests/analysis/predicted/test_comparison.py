"""Predictions next to measured values, joined by sweep and case; none of these numbers was measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from hpcbench.analysis.predicted.columns import CLOCK, DEVICE, ENERGY, MEMORY, POWER, REASON, TIME, limits_of
from hpcbench.analysis.predicted.comparison import COLUMNS, NAMES, with_predicted

USUAL = {
    "sweep": "one",
    "device": "cpu",
    "cpu_model": "AMD EPYC 7763 64-Core Processor",
    "gpu_model": None,
    "time_median_s": 0.2,
    "items_per_step": 10,
}


def cases(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame([{**USUAL, "case": f"c{place}", **row} for place, row in enumerate(rows)])


def predictions(*rows: dict[str, Any]) -> pd.DataFrame:
    """Rows with a time of 0.1 s (0.05 to 0.2) on the CPUs of USUAL, unless a row has other values."""
    usual = {"sweep": "one", DEVICE: "my-node", NAMES: ["my-node", "AMD EPYC 7763"], **time(0.1, 0.05, 0.2)}
    made = [{**dict.fromkeys(COLUMNS), **usual, "case": f"c{place}", **row} for place, row in enumerate(rows)]
    return pd.DataFrame(made, columns=list(COLUMNS))


def estimate(column: str, value: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    return dict(zip((column, *limits_of(column)), (value, low, high), strict=True))


def time(value: float | None, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    return estimate(TIME.column, value, low, high)


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [(0.2, "inside"), (0.05, "inside"), (0.201, "above"), (0.049, "below"), (math.nan, None)],
)
def test_a_measured_time_is_inside_above_or_below_its_interval(measured: float, verdict: str | None) -> None:
    found = with_predicted(cases({"time_median_s": measured}), predictions({})).iloc[0]
    assert found[TIME.verdict] == verdict
    assert found[TIME.ratio] == pytest.approx(measured / 0.1, nan_ok=True)
    assert [found[name] for name in (TIME.column, *TIME.limits)] == [0.1, 0.05, 0.2]


def test_cases_are_matched_by_sweep_and_case_and_keep_their_order_and_index() -> None:
    table = cases({}, {}, {"sweep": "two", "case": "c0"}).set_axis([7, 3, 5])
    found = with_predicted(table, predictions({"case": "c1", **time(0.4, 0.3, 0.5)}, {"case": "c0"}))
    assert found.index.tolist() == [7, 3, 5]
    assert found[TIME.column].tolist()[:2] == [0.1, 0.4]
    assert math.isnan(found[TIME.column].iloc[2])
    assert found[TIME.verdict].tolist() == ["inside", "below", None]


def test_a_case_without_a_prediction_has_its_reason_and_empty_numbers() -> None:
    found = with_predicted(cases({}), predictions({DEVICE: None, **time(None), REASON: "it is odd"})).iloc[0]
    assert (found[REASON], found[TIME.verdict], found[DEVICE]) == ("it is odd", None, None)
    assert math.isnan(found[TIME.ratio])


@pytest.mark.parametrize(
    ("device", "column", "other"), [("gpu", "energy_gpu_j_per_item", "cpu"), ("cpu", "energy_cpu_j_per_item", "gpu")]
)
def test_power_and_energy_per_step_are_those_of_the_device_of_the_case(device: str, column: str, other: str) -> None:
    row = {"device": device, column: 2.0, f"energy_{other}_j_per_item": 50.0}
    predicted = {NAMES: [], **estimate(ENERGY.column, 25.0, 10.0, 30.0), **estimate(POWER.column, 50.0, 40.0, 60.0)}
    found = with_predicted(cases(row), predictions(predicted)).iloc[0]
    assert (found[ENERGY.measured], found[ENERGY.ratio], found[ENERGY.verdict]) == (20.0, 0.8, "inside")
    assert (found[POWER.measured], found[POWER.ratio], found[POWER.verdict]) == (100.0, 2.0, "above")


def test_columns_without_a_value_are_left_out_except_those_of_the_time() -> None:
    found = with_predicted(cases({}), predictions(time(None)))
    added = [name for name in found if name not in cases({})]
    assert added == [DEVICE, TIME.column, *TIME.limits, TIME.ratio, TIME.verdict]
    found = with_predicted(cases({}), predictions(estimate(MEMORY, 3.0, 2.0, 4.0)))
    assert found[MEMORY].tolist() == [3.0]
    assert CLOCK not in found
    assert with_predicted(cases({}), predictions({CLOCK: 1410.0}))[CLOCK].tolist() == [1410.0]
    assert POWER.column not in found


@pytest.mark.parametrize(
    ("device", "models", "names", "verdict"),
    [
        ("gpu", {"gpu_model": "NVIDIA A100-PCIE-40GB"}, ["a100-pcie-40", "A100-PCIE-40GB"], "inside"),
        ("gpu", {"gpu_model": "Tesla V100-SXM2-16GB"}, ["a100-pcie-40", "A100-PCIE-40GB"], "other device"),
        ("gpu", {"gpu_model": None}, ["a100-pcie-40"], "inside"),
        ("cpu", {"cpu_model": "another CPU"}, ["my-node", "AMD EPYC 7763"], "other device"),
        ("cpu", {"cpu_model": "another CPU; AMD EPYC 7763 64-Core Processor"}, ["AMD EPYC 7763"], "inside"),
        ("cpu", {"cpu_model": "another CPU"}, [], "inside"),
    ],
)
def test_a_value_measured_on_another_device_is_not_in_an_interval(
    device: str, models: dict[str, Any], names: list[str], verdict: str
) -> None:
    found = with_predicted(cases({"device": device, **models}), predictions({NAMES: names})).iloc[0]
    assert (found[TIME.verdict], found[TIME.ratio]) == (verdict, 2.0)


def test_tables_without_energies_are_compared_by_time(table: Callable[..., pd.DataFrame]) -> None:
    own = cases({}).drop(columns=["cpu_model", "gpu_model"])
    assert with_predicted(own, predictions({}))[TIME.verdict].tolist() == ["inside"]
