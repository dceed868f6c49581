"""Cost and emissions of a prediction: time times the price of an hour, energy times the emissions of a kWh.

Both are products with a constant, so that intervals keep their relative width. The formulas are those of
analysis/cases/cost.py for measurements:

- cost = time x price of an hour / 3600 [1];
- emissions = energy x PUE x grams of CO2 equivalent for a kWh [2].

[1] slurm.conf(5), TRESBillingWeights: cores and GPUs are added up. [2] L. Lannelongue, J. Grealey and M. Inouye,
"Green Algorithms: quantifying the carbon footprint of computation", Advanced Science 8 (2021).
"""

from __future__ import annotations

import pandas as pd

from hpcbench.config.pricing import Allocation, Price, price_per_hour
from hpcbench.config.site import Carbon, Cost
from hpcbench.core.energy import J_PER_KWH
from hpcbench.predict.devices.device import GPU, Device
from hpcbench.predict.tables.prediction import VALUES

SECONDS_PER_HOUR = 3600.0


def price_of(device: Device, cost: Cost, cores: int) -> Price:
    """Return the price of an hour of a GPU and `cores` cores, or of `cores` cores of CPUs, or why it is unknown.

    The price of the device's own description, of the GPU or of all CPUs, replaces the prices of the site.
    """
    if device.price_per_hour is not None:
        return Price(device.price_per_hour)
    return price_per_hour(cost, Allocation(nodes=1, cores=cores, gpus=1 if device.kind == GPU else 0))


def cost_of(time_s: pd.DataFrame, price: Price) -> pd.DataFrame:
    """Return the cost of predicted times with its interval, in the currency of the price of an hour."""
    return _times(time_s, None if price.amount is None else price.amount / SECONDS_PER_HOUR, price.reason or "")


def emissions_of(energy_j: pd.DataFrame, carbon: Carbon) -> pd.DataFrame:
    """Return the emissions of predicted energies with their intervals, in grams of CO2 equivalent."""
    factor = carbon.g_per_measured_kwh
    missing = " and ".join(f"carbon.{name}" for name in ("g_per_kwh", "pue") if getattr(carbon, name) is None)
    return _times(energy_j, None if factor is None else factor / J_PER_KWH, f"the site file does not set {missing}")


def _times(predictions: pd.DataFrame, factor: float | None, reason: str) -> pd.DataFrame:
    """Return predictions times a positive factor; without one, rows that have no reason of their own get `reason`."""
    found = predictions.copy()
    for name in VALUES:
        found[name] = found[name] * (float("nan") if factor is None else factor)
    if factor is None:
        found["reason"] = found["reason"].where(found["reason"] != "", reason)
    return found
