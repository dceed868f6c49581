"""All that `hpcbench predict` shows: the table of results, shares by kind of operator, and what they are based on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pandas as pd

from hpcbench.config.site import Carbon
from hpcbench.predict.choice.ratios import RatioErrors
from hpcbench.predict.choice.states import StateErrors
from hpcbench.predict.devices.device import Device
from hpcbench.predict.results.cases import asked
from hpcbench.predict.results.derived import PriceOfCores, with_derived
from hpcbench.predict.results.memory import MemoryRange
from hpcbench.predict.results.remarks import REMARKS, remarks
from hpcbench.predict.results.state import State
from hpcbench.predict.results.table import AS_EAGER, PRICE, SOURCE, TIME, Explanation, results, shares_by_kind
from hpcbench.predict.tables.operators import UNKNOWN


@dataclass(frozen=True)
class Explained:
    """What predicted times of networks are spent on and based on: one row per place in a table of networks.

    `shares` has a column per kind of operator, `limits` is the resource that limits the time, `basis` has the columns
    `table.BASIS`, and `unknown_operators` names the operators of unknown kind with most time. `compute` is the fraction
    of the device time that the rate of products and vectors limits, not the memory; NaN if unknown.
    """

    shares: pd.DataFrame
    limits: pd.Series[str]
    basis: pd.DataFrame
    unknown_operators: pd.Series[str]
    compute: pd.Series[float]


class NetworkModels(Protocol):
    """The models that predict networks with operator lists."""

    def predict_networks(
        self, networks: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]
    ) -> Mapping[str, pd.DataFrame]:
        """Return predictions by quantity, one row per row of `networks`, as of `tables.prediction`."""

    def explained(self, networks: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]) -> Explained:
        """Return what the time of each network is spent on and based on, in the default state of its device."""


@dataclass(frozen=True)
class Question:
    """The cases to predict, and where: see `cases.asked`. `lists` has their operators, with the IDs of the cases."""

    cases: pd.DataFrame
    lists: pd.DataFrame
    states: Mapping[str, Sequence[State]]  # of each device, in their order
    devices: Mapping[str, Device]
    prices: Mapping[str, PriceOfCores] = field(default_factory=dict)  # by device
    carbon: Carbon = field(default_factory=Carbon)
    memory: Mapping[str, MemoryRange] = field(default_factory=dict)  # by case
    only: Mapping[str, str] = field(default_factory=dict)  # the kind of cases of a device that runs one kind only


@dataclass(frozen=True)
class Predictions:
    """Predictions of an experiment: `results` as of `table.results`, `shares` as of `table.shares_by_kind`."""

    experiment: str
    results: pd.DataFrame
    shares: pd.DataFrame
    model: str = ""  # what the models are based on, in words
    item: str = "sample"  # what the cases process
    currency: str = ""
    # Of ratios of the times of two devices, by the model that predicts them: values of `table.SOURCE`.
    errors: Mapping[str, RatioErrors] = field(default_factory=dict)
    states: StateErrors = field(default_factory=StateErrors)  # of ratios of energies between states of one device
    advice: str = ""  # what would improve the models
    data_hash: str = ""  # SHA-256 of the data of the fit; empty without measurements

    @property
    def refused(self) -> pd.DataFrame:
        """Return the rows without a time."""
        return self.results[self.results["reason"] != ""]

    def errors_of(self, rows: pd.DataFrame, quantity: str) -> RatioErrors | None:
        """Return the errors of ratios of two devices for a case, for rows of its results.

        They are those of the model that predicts its times, from which prices follow. None stands for independent
        errors, as those of different models are.
        """
        sources = [source for source in rows[SOURCE].unique() if source]
        return self.errors.get(sources[0]) if quantity in (TIME, PRICE) and len(sources) == 1 else None


def predict(question: Question, models: NetworkModels, measured: Collection[str] = ()) -> tuple[pd.DataFrame, ...]:
    """Return the tables of results and of shares by kind of a question. `measured` are the devices in the data.

    Cases that are refused are not predicted; devices without a description have a reason from the models.
    """
    rows = asked(question.cases, question.states, question.only)
    networks = rows.assign(list_id=rows["list_id"].where(rows["refused"] == "", ""))
    predicted = models.predict_networks(networks, question.lists, question.devices)
    is_usual = (rows["state"] == "").to_numpy()
    explained = models.explained(networks[is_usual].reset_index(drop=True), question.lists, question.devices)
    complete = with_derived(rows, predicted, question.prices, question.carbon, question.memory, question.devices)
    sizes = {name: device.memory_bytes for name, device in question.devices.items()}
    of_states = _of_all_states(rows, explained, question.devices)
    found = results(rows, complete, of_states, sizes, measured)
    found[REMARKS] = remarks(rows, found, of_states, question.devices, _as_eager(predicted[TIME]))
    return found, shares_by_kind(rows[is_usual], explained.shares)


def _as_eager(time: pd.DataFrame) -> pd.Series[bool]:
    return time[AS_EAGER] if AS_EAGER in time else pd.Series(False, time.index)


def _of_all_states(rows: pd.DataFrame, explained: Explained, devices: Mapping[str, Device]) -> Explanation:
    """Return for each row what holds for its case and device in the default state, except `compute`.

    Compute takes longer at a lower clock, while the memory keeps its own clock.
    """
    numbers = rows.groupby(["case", "device"], sort=False).ngroup().to_numpy()
    known = pd.Series(0.0, index=explained.limits.index)
    unknown = explained.shares[UNKNOWN].fillna(0.0) if UNKNOWN in explained.shares else known
    places = pd.RangeIndex(len(rows))
    clock = rows["clock_mhz"] / rows["device"].map({name: device.boost_mhz for name, device in devices.items()})
    compute = explained.compute.reindex(numbers).set_axis(places)
    clock = clock.set_axis(places).astype("float64")
    scaled = compute / clock.fillna(1.0)
    return Explanation(
        explained.limits.reindex(numbers).set_axis(places),
        unknown.reindex(numbers).set_axis(places),
        explained.unknown_operators.reindex(numbers).set_axis(places),
        explained.basis.reindex(numbers).set_axis(places),
        scaled / (scaled + 1.0 - compute),
        clock,
    )
