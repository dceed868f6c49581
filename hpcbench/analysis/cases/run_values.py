"""The value of a ranking quantity in a single run, for statistics on the variation between runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.case_table import Row
from hpcbench.analysis.cases.latency import latency
from hpcbench.analysis.cases.quantities import PRICE, SPEEDUP, THROUGHPUT, TIME, Quantity
from hpcbench.analysis.cases.ranking import speed_of
from hpcbench.analysis.stats.intervals import Floats, median_of
from hpcbench.analysis.stats.quantiles import PERCENTILES
from hpcbench.core.samples import SAMPLES

_OF_SPEED = (THROUGHPUT, SPEEDUP)


def rises(quantity: Quantity) -> bool:
    """Return whether a larger result of value_of_run is better; false for speeds, which are times per item there."""
    return bool(quantity.more_is_better) and quantity not in _OF_SPEED


def value_of_run(row: Row, quantity: Quantity) -> float:
    """Return the value of a quantity in a valid run; for throughput and speedup, the time per item in s.

    Without items, this is the time of a measurement. Return NaN if the run has no value.
    """
    if quantity.column in PERCENTILES:
        return _number(latency([row])[quantity.column] if row[SAMPLES].size else None)
    if quantity != TIME and quantity not in _OF_SPEED and quantity.column != PRICE.column:
        return _number(row[quantity.measured_as or quantity.column])
    time_s = median_of(row[SAMPLES]) if row[SAMPLES].size else math.nan
    if quantity == TIME:
        return time_s
    items = row["items_per_step"]
    per_item: float = time_s if pd.isna(items) else time_s / float(items)
    return per_item * (_number(row["price_per_hour"]) if quantity.column == PRICE.column else 1.0)


def logarithmic_costs(cases: pd.DataFrame, quantity: Quantity) -> Floats:
    """Return the logarithm of the quantity of each case, or of its inverse if more is better; NaN if not positive."""
    more = bool(quantity.more_is_better)
    values = speed_of(cases) if quantity in _OF_SPEED else cases[quantity.column]
    known = values.to_numpy(dtype=np.float64, na_value=np.nan)
    logs: Floats = np.log(np.where(known > 0, known, np.nan))
    return -logs if more else logs


def _number(value: Any) -> float:
    return math.nan if pd.isna(value) else float(value)
