"""The price of an hour: which prices count, and that one that is not known is never taken for nothing."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.config.pricing import Allocation, Price, price_per_hour, total
from hpcbench.config.site import Carbon, Cost

SHARED = Allocation(nodes=2, cores=16, gpus=0)
ON_GPUS = Allocation(nodes=1, cores=8, gpus=2)
WHOLE = Allocation(nodes=2, cores=96, gpus=8, whole_nodes=True)


@pytest.mark.parametrize(
    ("cost", "allocation", "amount"),
    [
        ({"core_hour": 0.01}, SHARED, 0.16),
        ({"core_hour": 0.01, "gpu_hour": 0.9}, ON_GPUS, 8 * 0.01 + 2 * 0.9),
        ({"core_hour": 0, "gpu_hour": 1.5}, ON_GPUS, 3.0),  # where a GPU's share of the node is in its price
        ({"core_hour": 0.01, "gpu_hour": 0.9}, WHOLE, 0.96 + 7.2),
        ({"node_hour": 3, "core_hour": 0.01, "gpu_hour": 0.9}, WHOLE, 6.0),
        ({"node_hour": 3, "core_hour": 0.01}, SHARED, 0.16),
        ({"node_hour": 3}, WHOLE._replace(unknown="the number of CPUs per node"), 6.0),
    ],
)
def test_an_hour_costs_what_the_prices_that_apply_add_up_to(
    cost: dict[str, Any], allocation: Allocation, amount: float
) -> None:
    assert price_per_hour(Cost(**cost), allocation) == (pytest.approx(amount), None)


@pytest.mark.parametrize(
    ("cost", "allocation", "reason"),
    [
        ({}, SHARED, "the site file has no prices"),
        ({"gpu_hour": 0.9}, ON_GPUS, "cost.core_hour is not set"),
        ({"core_hour": 0.01}, ON_GPUS, "the job uses GPUs, and cost.gpu_hour is not set"),
        ({"node_hour": 3}, SHARED, "cost.core_hour is not set, and cost.node_hour applies only to exclusive jobs"),
        (
            {"core_hour": 0.01},
            WHOLE._replace(unknown="the number of CPUs per node"),
            "the number of CPUs per node is",
        ),
    ],
)
def test_a_price_that_is_needed_and_not_set_leaves_no_price_but_the_reason(
    cost: dict[str, Any], allocation: Allocation, reason: str
) -> None:
    found = price_per_hour(Cost(**cost), allocation)
    assert found.amount is None
    assert str(found.reason).startswith(reason)


def test_a_sum_is_known_where_all_of_it_is() -> None:
    assert total([Price(1.5).times(2), Price(0.25)]) == Price(3.25)
    assert total([Price(1.5), Price(None, "why").times(3), Price(None, "another")]) == Price(None, "why")
    assert total([]) == Price(0.0)


def test_what_is_taken_together_is_divided() -> None:
    assert WHOLE.divided(4) == Allocation(0.5, 24, 2, True)


def test_emissions_need_both_factors() -> None:
    """Lannelongue, Grealey and Inouye, 2021: energy times PUE times carbon intensity."""
    assert Carbon(g_per_kwh=380, pue=1.5).g_per_measured_kwh == pytest.approx(570)
    assert Carbon(g_per_kwh=380).g_per_measured_kwh is None
    assert Carbon(pue=1.5).g_per_measured_kwh is None
