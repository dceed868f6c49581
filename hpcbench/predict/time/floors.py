"""The least time of a call, or of a kernel in a stream: by device, and for devices without measurements.

A floor belongs to a device and a key: family, function, data type, and how the operator is timed. Devices share the
ratios between keys, so that a few rows of a device show the factor of its host for all keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.tables.prediction import Floats
from hpcbench.predict.time.priors import KNOWN_FLOOR_SPREAD, UNKNOWN_FLOOR_SPREAD

# Assumptions: with half or twice a value, or plateaus of 1.2 and 1.8, the mean error of operators on four left-out
# devices of the public sets changes by at most a hundredth. A largest factor of 2 is too small: the error
# grows by 13 %.
_HIDDEN = 0.25  # a row shows its floor if its bound is at most this fraction of its time
_PLATEAU = 1.4  # rows up to this factor above the least ones belong to the floor
_LEAST_QUANTILE = 0.05  # of the times of a key: the least ones, without outliers
_LARGEST_FACTOR = 4.0  # over the prior; above it, the kernel is slow, and not its launch
_PSEUDO_ROWS = 2.0  # weight of the other keys and devices, as a number of rows


@dataclass(frozen=True)
class Floors:
    """Logarithms of floors over their priors: by key, by device and timing, and by device and key."""

    keys: Mapping[str, float]
    devices: Mapping[str, float]
    own: Mapping[str, float]

    def log_factor(self, names: pd.Series, keys: pd.Series) -> Floats:
        """Return the logarithm of the floor of each row over its prior."""
        hosts = names + "|" + _timing(keys)
        shared = keys.map(self.keys).fillna(0.0) + hosts.map(self.devices).fillna(0.0)
        return np.asarray((names + "|" + keys).map(self.own).fillna(shared), dtype="float64")

    def spread(self, names: pd.Series, keys: pd.Series) -> Floats:
        """Return the expected error of the logarithm of the floor of each row."""
        hosts = names + "|" + _timing(keys)
        known = hosts.isin(list(self.devices))
        return np.asarray(known.map({True: KNOWN_FLOOR_SPREAD, False: UNKNOWN_FLOOR_SPREAD}), dtype="float64")

    def to_json(self) -> dict[str, Any]:
        """Return the floors as JSON types."""
        return {"keys": dict(self.keys), "devices": dict(self.devices), "own": dict(self.own)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Floors:
        """Return the floors that `to_json` described."""
        return cls(data["keys"], data["devices"], data["own"])


def floor_keys(rows: pd.DataFrame, family: pd.Series, precision: pd.Series, timing: pd.Series) -> pd.Series:
    """Return the key of the floor of each row.

    The number of input tensors belongs to the key: adding a number has another floor than adding a tensor. Kernels
    that Triton generated have floors of their own.
    """
    inputs = ("/" + rows["inputs"].map("{:.0f}".format)).where(rows["inputs"].notna(), "")
    generated = rows["kernel_name"].str.contains("triton", case=False).map({True: "/triton", False: ""})
    return family + "|" + rows["function"] + inputs + generated + "|" + precision + "|" + timing


def fit_floors(names: pd.Series, keys: pd.Series, time_s: Floats, bound_s: Floats, prior_s: Floats) -> Floors:
    """Return the floors that measured times show, given the bounds of their kernels and the priors of their floors."""
    frame = pd.DataFrame({"name": names, "key": keys, "ratio": np.log(time_s / prior_s)})
    shows = (bound_s < _HIDDEN * time_s) & (np.abs(frame["ratio"]) < np.log(_LARGEST_FACTOR))
    found = _plateaus(frame[shows])
    if found.empty:
        return Floors({}, {}, {})
    by_key = found.groupby("key")["level"].median()
    found = found.assign(
        rest=found["level"] - found["key"].map(by_key), host=found["name"] + "|" + _timing(found["key"])
    )
    hosts = found.groupby("host").agg(rest=("rest", "median"), count=("count", "sum"))
    factor = hosts["rest"] * hosts["count"] / (hosts["count"] + _PSEUDO_ROWS)
    weight = found["count"] / (found["count"] + _PSEUDO_ROWS)
    shared = found["host"].map(factor)
    own = found["key"].map(by_key) + shared + weight * (found["rest"] - shared)
    return Floors(
        keys={str(key): float(level) for key, level in by_key.items()},
        devices={str(host): float(level) for host, level in factor.items()},
        own=dict(zip(found["name"] + "|" + found["key"], own, strict=True)),
    )


def _plateaus(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the level of each device and key, and from how many rows it is."""
    groups = rows.groupby(["name", "key"])["ratio"]
    least = groups.transform("quantile", _LEAST_QUANTILE)
    near = rows[rows["ratio"] <= least + np.log(_PLATEAU)]
    found: pd.DataFrame = near.groupby(["name", "key"])["ratio"].agg(level="median", count="size").reset_index()
    return found


def _timing(keys: pd.Series) -> pd.Series:
    return keys.str.rsplit("|", n=1).str[-1]
