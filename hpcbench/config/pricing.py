"""The price of an hour of an allocation.

- Whole nodes cost `node_hour` each, if the site has this price, with no further charges.
- Other allocations cost `core_hour` for each core and `gpu_hour` for each GPU, added up, as Slurm adds up its billing
  weights by default (slurm.conf(5), TRESBillingWeights).
- If a required price is unknown, the total is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from hpcbench.config.site import Cost


class Allocation(NamedTuple):
    """The reserved resources of a job. If `unknown` names a missing fact of its nodes, the numbers are lower bounds."""

    nodes: float
    cores: float
    gpus: float
    whole_nodes: bool = False
    unknown: str | None = None

    def divided(self, among: int) -> Allocation:
        """Return the equal share of each of `among` concurrent runs."""
        return self._replace(nodes=self.nodes / among, cores=self.cores / among, gpus=self.gpus / among)


class Price(NamedTuple):
    """An amount in the currency of the site, or the reason why it is unknown."""

    amount: float | None
    reason: str | None = None

    def times(self, hours: float) -> Price:
        """Return the price of a number of hours, for a price per hour."""
        return self if self.amount is None else Price(self.amount * hours)


def has_prices(cost: Cost) -> bool:
    """Return whether the site file has any price."""
    return any(price is not None for price in (cost.core_hour, cost.node_hour, cost.gpu_hour))


def price_per_hour(cost: Cost, allocation: Allocation) -> Price:
    """Return the price of an hour of an allocation, or the reason why it is unknown."""
    if not has_prices(cost):
        return Price(None, "the site file has no prices")
    if allocation.whole_nodes and cost.node_hour is not None:
        return Price(allocation.nodes * cost.node_hour)
    if allocation.unknown:
        return Price(None, f"{allocation.unknown} is unknown, and whole nodes are charged")
    if cost.core_hour is None:
        shared = "" if cost.node_hour is None else ", and cost.node_hour applies only to exclusive jobs"
        return Price(None, f"cost.core_hour is not set{shared}")
    if allocation.gpus and cost.gpu_hour is None:
        return Price(None, "the job uses GPUs, and cost.gpu_hour is not set")
    return Price(allocation.cores * cost.core_hour + allocation.gpus * (cost.gpu_hour or 0.0))


def total(prices: Iterable[Price]) -> Price:
    """Return the sum of prices; the first unknown price if any is unknown."""
    amount = 0.0
    for price in prices:
        if price.amount is None:
            return price
        amount += price.amount
    return Price(amount)
