"""Cost and emissions of predictions, with their intervals."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from hpcbench.config.pricing import Price
from hpcbench.config.site import Carbon, Cost
from hpcbench.predict.choice.cost import cost_of, emissions_of, price_of
from hpcbench.predict.devices.device import CPU, Device

DEVICE = Device("some-gpu", "NVIDIA", "Ada", 2023, 100, 2000, 50e12, 48e9, 800e9, 2**26, 300)
TWO = pd.DataFrame(
    {"predicted": [7.2, float("nan")], "lower": [3.6, float("nan")], "upper": [36, float("nan")], "reason": ["", "why"]}
)


def test_an_hour_on_a_gpu_costs_its_price_and_that_of_its_cores() -> None:
    cost = Cost(core_hour=0.01, gpu_hour=0.9)
    assert price_of(DEVICE, cost, 8) == (pytest.approx(0.9 + 8 * 0.01), None)
    assert price_of(replace(DEVICE, kind=CPU), cost, 8) == (pytest.approx(0.08), None)


def test_the_price_of_a_device_replaces_those_of_the_site() -> None:
    priced = replace(DEVICE, price_per_hour=2.5)
    assert price_of(priced, Cost(core_hour=0.01, gpu_hour=0.9), 8) == (2.5, None)
    assert price_of(replace(priced, kind=CPU), Cost(), 64) == (2.5, None)
    assert price_of(DEVICE, Cost(), 8) == (None, "the site file has no prices")


def test_cost_is_time_by_the_price_of_an_hour() -> None:
    found = cost_of(TWO, Price(1.5))
    assert found.loc[0, ["predicted", "lower", "upper"]].tolist() == pytest.approx([0.003, 0.0015, 0.015])
    assert found["reason"].tolist() == ["", "why"]
    assert TWO.loc[0, "predicted"] == 7.2, "the predictions stay as they are"


def test_without_a_price_there_is_no_cost_but_the_reason() -> None:
    found = cost_of(TWO, Price(None, "the site file has no prices"))
    assert found[["predicted", "lower", "upper"]].isna().all(axis=None)
    assert found["reason"].tolist() == ["the site file has no prices", "why"]


def test_emissions_are_energy_by_pue_and_carbon_intensity() -> None:
    """Lannelongue, Grealey and Inouye, 2021: 7.2 MJ are 2 kWh, at 380 g and a PUE of 1.5."""
    found = emissions_of(TWO.assign(predicted=7.2e6), Carbon(g_per_kwh=380, pue=1.5))
    assert found.loc[0, "predicted"] == pytest.approx(2 * 380 * 1.5)


@pytest.mark.parametrize(
    ("carbon", "reason"),
    [
        (Carbon(), "the site file does not set carbon.g_per_kwh and carbon.pue"),
        (Carbon(pue=1.2), "the site file does not set carbon.g_per_kwh"),
        (Carbon(g_per_kwh=380), "the site file does not set carbon.pue"),
    ],
)
def test_emissions_without_factors_are_unknown(carbon: Carbon, reason: str) -> None:
    assert emissions_of(TWO, carbon)["reason"].tolist() == [reason, "why"]
