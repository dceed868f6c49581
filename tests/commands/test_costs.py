"""What `sweep --dry-run` and `report` say of prices, with a site file that has some."""

from __future__ import annotations

from typing import Any

import pytest

SLEEP = {"framework": "command", "command": "sleep 0.1", "model": None, "model_options": {}}


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        ({"core_hour": 0.5, "currency": "CHF"}, "At the site's prices, this costs at most 8.00 CHF."),
        ({"core_hour": 0.5, "node_hour": 3}, "At the site's prices, this costs at most 3.00 EUR."),
        ({"gpu_hour": 0.5}, "The cost is unknown: cost.core_hour is not set."),
    ],
)
def test_a_dry_run_tells_the_price_or_what_is_missing(command_line: Any, cost: dict[str, Any], said: str) -> None:
    partitions = {"main": {"default": True, "cpus_per_node": 16}}
    site = command_line.site(scheduler="slurm", partitions=partitions, cost=cost)
    experiment = command_line.experiment(slurm={"time": "01:00:00", "exclusive": True})
    assert said in command_line("sweep", experiment, "--site", site, "--dry-run").stdout


def test_a_dry_run_without_prices_says_nothing_of_them(command_line: Any) -> None:
    site = command_line.site(scheduler="slurm", partitions={"main": {"default": True, "cpus_per_node": 16}})
    shown = command_line("sweep", command_line.experiment(), "--site", site, "--dry-run").stdout
    assert "core-hours" in shown
    assert "The cost" not in shown
    assert "At the site's prices" not in shown


def test_a_report_tells_what_a_run_costs_and_what_the_sweep_used(command_line: Any) -> None:
    site = command_line.site(cost={"node_hour": 36}, carbon={"g_per_kwh": 100, "pue": 1})
    command_line("sweep", command_line.experiment(parameters=SLEEP), "--site", site)
    (row,) = command_line.report()
    assert float(row["price_per_run"]) == pytest.approx(0.01 * float(row["time_median_s"]))
    assert (row["currency"], row["price_per_hour"], row["price_reason"]) == ("EUR", "36.0", "")
    assert (row["co2e_g_per_kwh"], row["price_per_million_items"]) == ("100.0", "")
    (line,) = [line for line in command_line("report").stdout.splitlines() if " used " in line]
    assert "core-hours) in 1 attempt, " in line
    assert "EUR" in line
    refused = command_line("report", "--metric", "price_per_million_items", expect=2).stderr
    assert "cases cannot be ranked by price_per_million_items: no case has a value" in refused
