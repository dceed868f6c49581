"""Costs of cases: money, energy and emissions per million items, epoch or run, with their intervals.

- Money is time multiplied by the hourly price of the allocated resources; its interval is derived from that of the
  time. It covers the work at the measured speed, without startup, warm-up and queueing.
- Energy is the median over runs of the energy per item, with the interval of that median.
- Emissions are that energy, times the PUE of the data centre, times the grams for a kWh (Lannelongue, Grealey and
  Inouye, 2021, "Green Algorithms: quantifying the carbon footprint of computation", Advanced Science 8, 2100707).
- The energy-delay product is the energy per item times the time for an item, J s, in which saving energy by being
  slow gains nothing (Horowitz, Indermaur and Gonzalez, 1994, "Low-power digital design", IEEE Symposium on Low Power
  Electronics; Gonzalez and Horowitz, 1996, "Energy dissipation in general purpose microprocessors", IEEE Journal of
  Solid-State Circuits 31).

An item is the unit of work of a step (items_per_step). If a measurement is a whole run (a command, a training to an
accuracy), costs are per run.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from hpcbench.analysis.cases import quantities
from hpcbench.analysis.cases.case_table import valid_repetitions
from hpcbench.analysis.stats.intervals import Floats, interval_of_values, median_of
from hpcbench.config.metrics import interval_columns
from hpcbench.core.energy import J_PER_KWH
from hpcbench.core.samples import SAMPLES

MILLION, SECONDS = 1e6, 3600.0
PRICE, PRICE_OF_EPOCH, PRICE_OF_RUN = quantities.PRICE.column, "price_per_epoch", "price_per_run"
ENERGY, ENERGY_OF_RUN = quantities.ENERGY.column, "energy_kwh_per_run"
CO2E, CO2E_OF_RUN = "co2e_g_per_million_items", "co2e_g_per_run"
ENERGY_DELAY = "energy_delay_j_s_per_item2"
RANKED = (PRICE, ENERGY)  # columns that can rank a report

_TIME = ("time_median_s", "time_ci_low_s", "time_ci_high_s")
_KEYS = ("sweep", "case")
_BEHIND = "co2e_g_per_kwh"  # the new columns are inserted after this one

Values = dict[tuple[str, str], list[float]]  # one value per run, by sweep and case


def add_costs(cases: pd.DataFrame, repetitions: pd.DataFrame) -> pd.DataFrame:
    """Return the cases with their costs and the limits of their intervals; NaN if an operand is unknown.

    `repetitions` is the table from which case_table made `cases`.
    """
    items, items_of_epoch = _numbers(cases, "items_per_step"), _numbers(cases, "items_per_epoch")
    whole = np.isnan(items)  # a measurement is a run, without items
    millions, runs = np.where(whole, np.nan, MILLION), np.where(whole, 1.0, np.nan)
    price = np.stack([_numbers(cases, name) for name in _TIME]) * _numbers(cases, "price_per_hour") / SECONDS
    energy, energy_delay, learnt = _by_repetitions(cases, repetitions)
    kwh, grams = energy / J_PER_KWH, _numbers(cases, "co2e_g_per_kwh")
    found = {
        PRICE: price / items * millions,
        PRICE_OF_EPOCH: np.where(whole, learnt, price / items * items_of_epoch),
        PRICE_OF_RUN: price * runs,
        ENERGY: kwh * millions,
        ENERGY_OF_RUN: kwh * runs,
        ENERGY_DELAY: energy_delay,
    }
    found |= {CO2E: found[ENERGY] * grams, CO2E_OF_RUN: found[ENERGY_OF_RUN] * grams}
    names = [(name, *interval_columns(name)) for name in found]
    columns = [pd.DataFrame(found[each[0]].T, columns=each, index=cases.index) for each in names]
    reasons = cases["price_reason"].where(cases["price_per_hour"].isna(), None)
    place = list(cases.columns).index(_BEHIND) + 1
    before, after = cases.assign(price_reason=reasons).iloc[:, :place], cases.iloc[:, place:]
    return pd.concat([before, *columns, after], axis=1)


def incomparable(cases: pd.DataFrame, column: str) -> str | None:
    """Return why cases cannot be ranked by a column of RANKED, such as several currencies; None if they can."""
    known = cases[cases[column].notna()]
    if known.empty:
        reasons = cases["price_reason" if column == PRICE else "energy_reason"].dropna()
        return f"no case has a value ({reasons.iloc[0]})" if len(reasons) else "no case has a value"
    differing = known["currency"] if column == PRICE else known["energy_scope"].map(scope_of_host)
    several = differing.unique()
    if len(several) < 2:
        return None
    if column == PRICE:
        return f"prices are in {' and '.join(map(str, several))}"
    return f"energy is of other components of the nodes: {', '.join(known['energy_scope'].unique())}"


def scope_of_host(scope: str) -> str:
    """Return `cpu+memory` for `cpu+memory+gpu`, so that cases with and without GPUs have comparable scopes."""
    return "+".join(kind for kind in scope.split("+") if kind != "gpu")


def _by_repetitions(cases: pd.DataFrame, repetitions: pd.DataFrame) -> tuple[Floats, Floats, Floats]:
    """Return J per item or run, the energy-delay product, and the price of an epoch of a training to an accuracy.

    Each has shape (3, cases): medians over the runs, and their lower and upper limits.
    """
    used = valid_repetitions(repetitions)
    metered = used[used["energy_measured_j"].notna()]
    learnt = used[used["epochs"].notna() & used["price_per_hour"].notna() & ~(used["models"] > 1).fillna(False)]
    energies = _values(metered, _joules, "energy_measured_j", "energy_measured_j_per_item")
    products = _values(metered, _energy_delay, "energy_measured_j_per_item", "items_per_step", SAMPLES)
    prices = _values(learnt, _price_of_epoch, "price_per_hour", "epochs", SAMPLES)
    several = cases["energy_scope"].fillna("").str.contains(";", regex=False).to_numpy()
    energy, product, price = (_intervals(cases, each) for each in (energies, products, prices))
    energy[:, several], product[:, several] = np.nan, np.nan
    return energy, product, price


def _numbers(cases: pd.DataFrame, name: str) -> Floats:
    return cases[name].to_numpy(dtype=np.float64, na_value=np.nan)


def _values(rows: pd.DataFrame, made_of: Callable[..., float], *columns: str) -> Values:
    found: Values = {}
    for sweep, case, *given in zip(*(rows[name].tolist() for name in (*_KEYS, *columns)), strict=True):
        value = made_of(*given)
        if math.isfinite(value):
            found.setdefault((sweep, case), []).append(value)
    return found


def _intervals(cases: pd.DataFrame, values: Values) -> Floats:
    """Return the median of the values of each case and its limits, shape (3, cases); NaN without values."""
    found = np.full((3, len(cases)), np.nan)
    for place, key in enumerate(zip(*(cases[name].tolist() for name in _KEYS), strict=True) if values else ()):
        if key in values:
            found[:, place] = np.array(interval_of_values(values[key]), dtype=np.float64)
    return found


def _joules(of_run: float, of_item: float | None) -> float:
    return of_run if pd.isna(of_item) else float(of_item or 0.0)


def _energy_delay(of_item: float | None, items_of_step: float | None, times_s: Floats) -> float:
    """Return J per item times seconds per item of a run whose steps have items, otherwise NaN."""
    if pd.isna(of_item) or pd.isna(items_of_step):
        return math.nan
    return float(of_item or 0.0) * _median_time(times_s) / float(items_of_step or 0.0)


def _price_of_epoch(per_hour: float, epochs: float, times_s: Floats) -> float:
    return per_hour / SECONDS * _median_time(times_s) / epochs


def _median_time(times_s: Floats) -> float:
    """Return the median of the valid times in seconds (see valid_samples.py)."""
    times = times_s[np.isfinite(times_s) & (times_s >= 0)]
    return median_of(times) if times.size else math.nan
