"""What a site charges for an hour of what a job takes.

- Whole nodes cost `node_hour` each, where the site has that price, and nothing else.
- Anything else costs `core_hour` for each core and `gpu_hour` for each GPU, added up, as Slurm adds up its billing
  weights unless it is told otherwise (slurm.conf(5), TRESBillingWeights).
- A price that is needed and not known makes the whole unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from hpcbench.config.site import Cost


class Taken(NamedTuple):
    """What a job keeps from others. Where `unknown` says what is not known of its nodes, it may be more than that."""

    nodes: float
    cores: float
    gpus: float
    whole_nodes: bool = False
    unknown: str | None = None

    def divided(self, among: int) -> Taken:
        """The share of each of so many that take it together."""
        return self._replace(nodes=self.nodes / among, cores=self.cores / among, gpus=self.gpus / among)


class Price(NamedTuple):
    """An amount in the currency of the site, or the reason why it is not known."""

    amount: float | None
    reason: str | None = None

    def times(self, hours: float) -> Price:
        return self if self.amount is None else Price(self.amount * hours)


def has_prices(cost: Cost) -> bool:
    """Whether the site says anything about prices."""
    return any(price is not None for price in (cost.core_hour, cost.node_hour, cost.gpu_hour))


def price_per_hour(cost: Cost, taken: Taken) -> Price:
    """What an hour of this costs."""
    if not has_prices(cost):
        return Price(None, "the site file has no prices")
    if taken.whole_nodes and cost.node_hour is not None:
        return Price(taken.nodes * cost.node_hour)
    if taken.unknown:
        return Price(None, f"{taken.unknown} is not known, and whole nodes are paid")
    if cost.core_hour is None:
        shared = "" if cost.node_hour is None else ", and jobs that share their nodes do not pay cost.node_hour"
        return Price(None, f"cost.core_hour is not set{shared}")
    if taken.gpus and cost.gpu_hour is None:
        return Price(None, "cost.gpu_hour is not set, and GPUs are used")
    return Price(taken.cores * cost.core_hour + taken.gpus * (cost.gpu_hour or 0.0))


def total(prices: Iterable[Price]) -> Price:
    """The sum; not known where one of them is not."""
    amount = 0.0
    for price in prices:
        if price.amount is None:
            return price
        amount += price.amount
    return Price(amount)
