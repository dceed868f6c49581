"""Quantities that follow from predicted times and energies: throughput, price and emissions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from hpcbench.config.pricing import Price
from hpcbench.config.site import Carbon
from hpcbench.predict.choice.cost import cost_of, emissions_of
from hpcbench.predict.devices.device import CPU, Device
from hpcbench.predict.devices.threads import cores_used
from hpcbench.predict.results.cases import CORES
from hpcbench.predict.results.memory import MemoryRange
from hpcbench.predict.results.table import EMISSIONS, ENERGY, MEMORY, PRICE, THROUGHPUT, TIME
from hpcbench.predict.tables.prediction import VALUES, Floats

PriceOfCores = Callable[[int], Price]
"""Returns the price of an hour of a device with this number of cores."""
MILLION = 1e6
_NO_ITEMS = "the number of items per step is unknown"


def with_derived(
    asked: pd.DataFrame,
    predictions: Mapping[str, pd.DataFrame],
    prices: Mapping[str, PriceOfCores],
    carbon: Carbon,
    memory: Mapping[str, MemoryRange],
    devices: Mapping[str, Device],
) -> dict[str, pd.DataFrame]:
    """Return predictions with those of throughput, price and emissions per million items, and memory.

    The predictions are in the order of `asked`. `prices` are by device; `memory` has ranges in bytes by case, for cases
    with a known one.
    """
    found = {name: frame.reset_index(drop=True) for name, frame in predictions.items()}
    items = asked["items_per_step"].to_numpy(dtype="float64")
    time = _per_million(found[TIME], items)
    found[THROUGHPUT] = _throughput(found[TIME], items)
    found[PRICE] = _cost(time, asked["device"].to_numpy(), _cores(asked, devices), prices)
    if ENERGY in found:
        found[EMISSIONS] = emissions_of(_per_million(found[ENERGY], items), carbon)
    found[MEMORY] = _memory(asked, memory)
    return found


def _without_price(_: int) -> Price:
    return Price(None, "the device has no price")


def _cores(asked: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
    """Return the cores of each row: those of a task, on CPUs at least those that it is predicted on, at most all."""
    found = asked[CORES].to_numpy(dtype="float64").copy()
    threads = asked["threads"].to_numpy(dtype="float64")
    for name, places in asked.groupby("device", sort=False).indices.items():
        device = devices.get(str(name))
        if device is not None and device.kind == CPU:
            found[places] = np.clip(found[places], cores_used(device, threads[places]), device.units)
    return found


def _cost(time: pd.DataFrame, devices: np.ndarray, cores: Floats, prices: Mapping[str, PriceOfCores]) -> pd.DataFrame:
    costs = []
    for device, count in dict.fromkeys(zip(devices, cores, strict=True)):
        price = prices.get(device, _without_price)(int(count))
        costs.append(cost_of(time[(devices == device) & (cores == count)], price))
    return pd.concat(costs).sort_index()


def _per_million(frame: pd.DataFrame, items: np.ndarray) -> pd.DataFrame:
    scaled = frame[list(VALUES)].mul(MILLION / items, axis=0)
    reason = frame["reason"].where((frame["reason"] != "") | ~np.isnan(items), _NO_ITEMS)
    return frame.assign(**{name: scaled[name] for name in VALUES}, reason=reason)


def _throughput(time: pd.DataFrame, items: np.ndarray) -> pd.DataFrame:
    """Return items per second; the limits change places, since they are those of the time."""
    frame = _per_million(time, items)
    per_second = MILLION / frame[list(VALUES)]
    return frame.assign(predicted=per_second["predicted"], lower=per_second["upper"], upper=per_second["lower"])


def _memory(asked: pd.DataFrame, memory: Mapping[str, MemoryRange]) -> pd.DataFrame:
    nothing = MemoryRange(np.nan, np.nan, np.nan)
    ranges = [memory.get(case, nothing) for case in asked["case"]]
    found = pd.DataFrame(ranges, columns=["lower", "predicted", "upper"], dtype="float64")
    known = found["predicted"].notna()
    reasons = asked["unlisted"].where(asked["unlisted"] != "", "the operators or weights of the network are unknown")
    return found.assign(reason=np.where(known, "", reasons))
