"""Quantities that follow from predicted times and energies: throughput, price and emissions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from hpcbench.config.pricing import Price
from hpcbench.config.site import Carbon
from hpcbench.predict.choice.cost import cost_of, emissions_of
from hpcbench.predict.results.memory import MemoryRange
from hpcbench.predict.results.table import EMISSIONS, ENERGY, MEMORY, PRICE, THROUGHPUT, TIME
from hpcbench.predict.tables.prediction import VALUES

MILLION = 1e6
_NO_ITEMS = "the number of items per step is unknown"


def with_derived(
    asked: pd.DataFrame,
    predictions: Mapping[str, pd.DataFrame],
    prices: Mapping[str, Price],
    carbon: Carbon,
    memory: Mapping[str, MemoryRange],
) -> dict[str, pd.DataFrame]:
    """Return predictions with those of throughput, price and emissions per million items, and memory.

    The predictions are in the order of `asked`. `prices` are of an hour, by device; `memory` has ranges in bytes by
    case, for cases with a known one.
    """
    found = {name: frame.reset_index(drop=True) for name, frame in predictions.items()}
    items = asked["items_per_step"].to_numpy(dtype="float64")
    time = _per_million(found[TIME], items)
    found[THROUGHPUT] = _throughput(found[TIME], items)
    found[PRICE] = pd.concat(
        [
            cost_of(rows, prices.get(str(device), Price(None, "the device has no price")))
            for device, rows in time.groupby(asked["device"].to_numpy(), sort=False)
        ]
    ).sort_index()
    if ENERGY in found:
        found[EMISSIONS] = emissions_of(_per_million(found[ENERGY], items), carbon)
    found[MEMORY] = _memory(asked, memory)
    return found


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
