"""The time of the regular operators of networks: one efficiency per device and group of operators.

Networks have products whose sizes are multiples of 32, and row-wise operators of many elements. Measured operators of
random sizes hardly contain such products, but their best decile comes close. If the efficiency falls for longer
operators, the device throttles. The size with the highest efficiency therefore counts. The time is the soft maximum of
the times for FLOPs and for bytes [1], divided by the efficiency. A device without measured operators has the mean
efficiency of the others, weighted by age and vendor.

[1] S. Williams et al., "Roofline", CACM 52(4), 2009.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import GPU, Device
from hpcbench.predict.networks.listed.best_efficiency import GROUPS, best_efficiencies, seconds_at_full_rate
from hpcbench.predict.networks.listed.recurrent_steps import least_times
from hpcbench.predict.networks.listed.time_estimator import TimeEstimator
from hpcbench.predict.operators.device_columns import of_pairs
from hpcbench.predict.operators.precision import precisions
from hpcbench.predict.tables.prediction import Estimate

_WITHOUT_SIZE = "FLOPs and bytes unknown or zero, or one of them negative or infinite"
_LEAST_S = 5e-6  # of one kernel and the gap to the next one: graph replays of public sets go down to 2 us, calls to 25
# Assumptions: other values (2 and 8 years, weights of 0.1 and 1) change the mean error of the public sets on left-out
# devices, which is 11 %, by at most 1 point.
_YEARS = 4.0  # age difference at which the weight of another device has fallen to 0.6
_OTHER_VENDOR = 0.3  # weight of a device of another vendor
_OTHER = 0.3  # weight of a device of another architecture
_LEAST_WEIGHT = 1e-3  # of a device of any age
# Of the efficiency, as logarithms. The standard deviation between devices of the public sets is 0.09 to 0.23, by group;
# half of a typical one is assumed for a measured device.
_SEEN_SPREAD, _UNSEEN_SPREAD = 0.08, 0.16


@dataclass(frozen=True)
class Kin:
    """What devices of similar efficiency have in common."""

    vendor: str
    architecture: str
    year: int


@dataclass(frozen=True)
class RegularTime:
    """A model of the time of operators in networks; operators of other groups have the time of `others`."""

    others: TimeEstimator
    efficiencies: Mapping[str, Mapping[str, float]]  # by group and precision, then by device: logarithms
    kin: Mapping[str, Kin]  # of the devices with efficiencies

    def estimate(self, operators: pd.DataFrame, devices: Mapping[str, Device], in_stream: bool) -> Estimate:
        """Return the logarithms of the times in seconds. Times of regular operators are always those in a stream.

        In a stream, recurrent layers on GPUs have at least the time of their time steps.
        """
        gpus = [name for name, device in devices.items() if device.kind == GPU]
        keys = operators["kind"].map(GROUPS).fillna("") + " " + precisions(operators, devices)
        own = (keys.isin(list(self.efficiencies)) & operators["device"].isin(gpus)).to_numpy()
        log_value, spread = np.full(len(operators), np.nan), np.full(len(operators), np.nan)
        reason = np.full(len(operators), "", dtype=object)
        if not own.all():
            found = self.others.estimate(operators[~own], devices, in_stream)
            log_value[~own], spread[~own], reason[~own] = found.log_value, found.spread, found.reason
        if own.any():
            rows = operators[own]
            log_efficiency = of_pairs(rows, keys[own], devices, self._log_efficiency)
            spread[own] = of_pairs(rows, keys[own], devices, self._spread)
            full_s = seconds_at_full_rate(rows, devices)
            sizes = rows[["flops", "bytes"]].fillna(0.0).to_numpy(dtype="float64")
            has_size = (np.isfinite(sizes) & (sizes >= 0)).all(axis=1) & (full_s > 0)
            reason[own] = np.where(has_size, "", _WITHOUT_SIZE)
            log_value[own] = np.log(np.where(has_size, full_s, np.nan) / np.exp(log_efficiency) + _LEAST_S)
        if in_stream:
            with np.errstate(divide="ignore"):  # log(0) for operators without time steps
                log_value = np.maximum(log_value, np.log(least_times(operators, devices)))
        return Estimate(log_value, spread, reason)

    def without(self, device: str) -> RegularTime:
        """Return the model without the measurements of a device."""
        kept = {
            key: {name: value for name, value in each.items() if name != device}
            for key, each in self.efficiencies.items()
        }
        return replace(self, efficiencies={key: each for key, each in kept.items() if each})

    def with_own(self, names: Collection[str], operators: pd.DataFrame, devices: Mapping[str, Device]) -> RegularTime:
        """Return the model in which these devices have no other efficiencies than those that these operators show."""
        kept = self
        for name in names:
            kept = kept.without(name)
        own = fit(operators, devices, self.others)
        efficiencies = {
            key: {**kept.efficiencies.get(key, {}), **own.efficiencies.get(key, {})}
            for key in {**kept.efficiencies, **own.efficiencies}
        }
        return replace(self, efficiencies=efficiencies, kin={**self.kin, **own.kin})

    def _log_efficiency(self, device: Device, key: str) -> float:
        known = self.efficiencies[key]
        if device.name in known:
            return known[device.name]
        weights = [_weight(device, self.kin[name]) for name in known]
        return float(np.average(list(known.values()), weights=weights))

    def _spread(self, device: Device, key: str) -> float:
        return _SEEN_SPREAD if device.name in self.efficiencies[key] else _UNSEEN_SPREAD

    def to_json(self) -> dict[str, Any]:
        """Return the model without `others`, as JSON types."""
        return {
            "efficiencies": {key: dict(each) for key, each in self.efficiencies.items()},
            "kin": {name: asdict(each) for name, each in self.kin.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], others: TimeEstimator) -> RegularTime:
        """Return the model that `to_json` wrote. Raise KeyError if a field is missing."""
        return cls(others, data["efficiencies"], {name: Kin(**each) for name, each in data["kin"].items()})


def fit(operators: pd.DataFrame, devices: Mapping[str, Device], others: TimeEstimator) -> RegularTime:
    """Return the model fitted on measured operators; without enough rows of a group, `others` predicts it."""
    efficiencies = best_efficiencies(operators, devices)
    names = {name for each in efficiencies.values() for name in each}
    return RegularTime(others, efficiencies, {name: kin(devices[name]) for name in sorted(names)})


def kin(device: Device) -> Kin:
    """Return what devices of similar efficiency have in common."""
    return Kin(device.vendor, device.architecture, device.year)


def _weight(device: Device, other: Kin) -> float:
    """Return how much the efficiency of another device counts for a device: at most 1."""
    age = float(np.exp(-(((device.year - other.year) / _YEARS) ** 2) / 2))
    vendor = 1.0 if device.vendor == other.vendor else _OTHER_VENDOR
    architecture = 1.0 if (device.vendor, device.architecture) == (other.vendor, other.architecture) else _OTHER
    return (age + _LEAST_WEIGHT) * vendor * architecture
