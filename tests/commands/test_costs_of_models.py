"""A model's prices, from the site file to the ranking."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.torch


def test_cases_are_ranked_by_price_within_one_currency(command_line: Any) -> None:
    for currency, sizes in (("EUR", [1, 64]), ("CHF", [64])):
        site = command_line.site(currency, cost={"core_hour": 36_000, "currency": currency})
        experiment = command_line.experiment(parameters={"task": "inference"}, matrix={"batch_size": sizes})
        command_line("sweep", experiment, "--site", site, "--name", currency)
    rows = command_line.report("EUR", "--metric", "price_per_million_items")
    prices = [float(row["price_per_million_items"]) for row in rows]
    assert prices == sorted(prices)
    for row in rows:  # 10 EUR for a second of the one core
        items = float(row["throughput_items_per_s"])
        assert float(row["price_per_million_items"]) == pytest.approx(10 / items * 1e6)
    assert rows[0]["pareto"] == "front"
    shown = command_line("report", "EUR", "--metric", "price_per_million_items").stdout
    assert "price per million items" in " ".join(shown.split())
    both = command_line("report", "EUR", "CHF", "--metric", "price_per_million_items", expect=2)
    assert "prices are in EUR and CHF" in both.stderr
