"""What `--metric` names: a known quantity, or a metric of commands, and which way is better."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbench.analysis.cases.quantities import QUANTITIES, THROUGHPUT, TIME, Quantity
from hpcbench.collect.table import MetricColumn
from hpcbench.errors import UserError
from hpcbench.report.load.metrics import default_quantity, named, quantities_of

RATE = Quantity("metric_rate_it_per_s", "rate", "it/s", more_is_better=True)
LOSS = Quantity("metric_loss", "loss", more_is_better=None)
METRICS = {RATE.column: RATE, LOSS.column: LOSS}


def test_a_metric_of_commands_is_a_quantity_that_may_not_know_which_way_is_better() -> None:
    columns = {RATE.column: MetricColumn("rate", "it/s", "higher"), LOSS.column: MetricColumn("loss", "", None)}
    assert quantities_of(columns) == METRICS
    assert quantities_of({"m": MetricColumn("m", "", "lower")})["m"].more_is_better is False


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("time_median_s", TIME),
        ("time_median_s:lower", TIME),
        ("throughput_items_per_s:higher", THROUGHPUT),
        ("throughput", THROUGHPUT),
        ("p99", QUANTITIES["time_p99_s"]),
        ("rate", RATE),
        ("metric_rate_it_per_s", RATE),
        ("rate:lower", replace(RATE, more_is_better=False)),
        ("loss:lower", replace(LOSS, more_is_better=False)),
    ],
)
def test_a_quantity_by_its_name_or_its_column(asked: str, found: Quantity) -> None:
    assert named(asked, QUANTITIES, METRICS) == found


@pytest.mark.parametrize("name", ["time", "speedup", "time_median_s"])
def test_a_metric_precedes_a_known_quantity_of_the_same_name(name: str) -> None:
    own = Quantity(f"metric_{name}", name, "s", more_is_better=False)
    assert named(name, QUANTITIES, {own.column: own}) == own
    assert named(f"{name}:higher", QUANTITIES, {own.column: own}) == replace(own, more_is_better=True)
    assert named(name, QUANTITIES, METRICS) in QUANTITIES.values()


def test_a_ranking_needs_a_better_direction() -> None:
    with pytest.raises(UserError, match="the better direction of 'loss' is unknown") as told:
        named("loss", QUANTITIES, METRICS)
    assert (told.value.where, told.value.hint) == ("--metric", "add it: --metric loss:higher or --metric loss:lower")
    assert named("loss", QUANTITIES, METRICS, has_direction=False) == LOSS


def test_the_default_is_the_throughput_then_the_first_metric_with_a_direction_then_the_time() -> None:
    assert default_quantity([LOSS, RATE], has_throughput=True) == THROUGHPUT
    assert default_quantity([LOSS, RATE], has_throughput=False) == RATE
    assert default_quantity([LOSS], has_throughput=False) == TIME


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("rat", "did you mean 'rate'?"),
        ("rate:more", "did you mean 'rate'?"),
        ("time_median_s:higher", "did you mean 'time_median_s'?"),
    ],
)
def test_what_is_no_metric_is_told_with_what_is_near(asked: str, hint: str) -> None:
    with pytest.raises(UserError, match=f"unknown metric '{asked}'") as told:
        named(asked, QUANTITIES, METRICS)
    assert told.value.hint == hint


def test_of_two_metrics_of_one_name_the_columns_are_told() -> None:
    other = replace(RATE, column="metric_rate_mb_per_s", unit="MB/s")
    with pytest.raises(UserError) as told:
        named("rate", QUANTITIES, {RATE.column: RATE, other.column: other})
    assert told.value.hint == "did you mean one of metric_rate_it_per_s, metric_rate_mb_per_s?"
