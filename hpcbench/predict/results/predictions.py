"""All that `hpcbench predict` shows: the table of results, shares by kind of operator, and what they rest on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pandas as pd

from hpcbench.config.pricing import Price
from hpcbench.config.site import Carbon
from hpcbench.predict.choice.ratios import RatioErrors
from hpcbench.predict.devices.device import Device
from hpcbench.predict.results.cases import asked
from hpcbench.predict.results.derived import with_derived
from hpcbench.predict.results.memory import MemoryRange
from hpcbench.predict.results.state import State
from hpcbench.predict.results.table import results, shares_by_kind
from hpcbench.predict.tables.operators import UNKNOWN


class NetworkModels(Protocol):
    """The models that predict networks with operator lists."""

    def predict_networks(
        self, networks: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]
    ) -> Mapping[str, pd.DataFrame]:
        """Return predictions by quantity, one row per row of `networks`, as of `tables.prediction`."""

    def shares(self, networks: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
        """Return the share of the time in each kind of operator, one row per place in `networks`."""

    def limits(self, networks: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
        """Return the `limit` of the time of each network, by place."""


@dataclass(frozen=True)
class Question:
    """The cases to predict, and where: see `cases.asked`. `lists` has their operators, with the IDs of the cases."""

    cases: pd.DataFrame
    lists: pd.DataFrame
    states: Mapping[str, Sequence[State]]  # of each device, in their order
    devices: Mapping[str, Device]
    prices: Mapping[str, Price] = field(default_factory=dict)  # of an hour, by device
    carbon: Carbon = field(default_factory=Carbon)
    memory: Mapping[str, MemoryRange] = field(default_factory=dict)  # by case


@dataclass(frozen=True)
class Predictions:
    """Predictions of an experiment: `results` as of `table.results`, `shares` as of `table.shares_by_kind`."""

    experiment: str
    results: pd.DataFrame
    shares: pd.DataFrame
    model: str = ""  # what the models rest on, in words
    item: str = "sample"  # what the cases process
    currency: str = ""
    errors: Mapping[str, RatioErrors] = field(default_factory=dict)  # of ratios of devices, by quantity

    @property
    def refused(self) -> pd.DataFrame:
        """Return the rows without a time."""
        return self.results[self.results["reason"] != ""]


def predict(question: Question, models: NetworkModels, measured: Collection[str] = ()) -> tuple[pd.DataFrame, ...]:
    """Return the tables of results and of shares by kind of a question. `measured` are the devices in the data.

    Cases that are refused are not predicted; devices without a description have a reason from the models.
    """
    rows = asked(question.cases, question.states)
    networks = rows.assign(list_id=rows["list_id"].where(rows["refused"] == "", ""))
    predicted = models.predict_networks(networks, question.lists, question.devices)
    shares = models.shares(networks, question.lists, question.devices).reindex(range(len(rows)))
    limits = models.limits(networks, question.lists, question.devices).reindex(range(len(rows)))
    complete = with_derived(rows, predicted, question.prices, question.carbon, question.memory)
    found = results(rows, complete, limits["limit"], shares.get(UNKNOWN), measured)
    return found, shares_by_kind(rows, shares)
