"""The ratio of the time of whole networks to the sum of their operators, by phase, mode, device and network.

The logarithm of the ratio is a sum of effects: of the part (forward, backward), the mode (training, compiled), the
vendor, the device and the network. Each effect is shrunk to zero, as if drawn from a normal distribution with the
standard deviations below (random effects [1]). Each row has a weight that limits its influence (Huber [2]): a device
whose operators were measured in another state than its networks does not move the others.

[1] G. K. Robinson, "That BLUP is a good thing", Statistical Science 6(1), 1991.
[2] P. J. Huber, "Robust estimation of a location parameter", Annals of Mathematical Statistics 35, 1964.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.networks.listed.sums import BACKWARD, FORWARD, OPTIMIZER
from hpcbench.predict.tables import networks as table
from hpcbench.predict.tables.prediction import Floats

# Standard deviations of the effects, as logarithms. They are assumptions, and so are the two values below: half or
# twice a value changes the mean error of the public sets on left-out devices, which is 9 %, by at most 2 points.
_DEVIATIONS = {"part": 0.10, "mode": 0.05, "vendor": 0.15, "device": 0.30, "network": 0.08}
_RESIDUAL = 0.05  # deviation of rows from the sum of their effects
_HUBER = 1.5  # residuals beyond so many deviations lose weight
_ROUNDS = 8  # of new weights


@dataclass(frozen=True)
class SumRatio:
    """Effects on the logarithm of whole / sum, by name, such as `device Tesla T4`."""

    effects: Mapping[str, float]

    def log_ratio(self, design: pd.DataFrame) -> Floats:
        """Return the logarithm of the ratio for rows of a design; effects that were not fitted are 0."""
        weights = pd.Series(self.effects, dtype="float64").reindex(design.columns).fillna(0.0)
        return design.to_numpy() @ weights.to_numpy()


def design(networks: pd.DataFrame, part_share: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
    """Return the share of each effect in rows: the parts by their share of the time, the others 0 or 1.

    `part_share` has the share of the parts in the time asked for, one row per row of `networks`.
    """
    index = part_share.index
    forward, backward = part_share[FORWARD], part_share[BACKWARD] + part_share[OPTIMIZER]
    training = (networks["phase"] == table.TRAINING).to_numpy()
    compiled = (networks["execution"] == table.COMPILED).to_numpy()
    known = [devices.get(name) for name in networks["device"]]
    names = pd.Series([device.name if device else "" for device in known], dtype="object")
    vendors = pd.Series([device.vendor if device else "" for device in known], dtype="object")
    labels = ("vendor " + vendors, "device " + names, "network " + networks["network"].astype("object"))
    named = pd.concat([pd.get_dummies(each, dtype="float64") for each in labels], axis=1).set_axis(index, axis=0)
    return pd.DataFrame(
        {
            "part forward": forward,
            "part backward": backward,
            "mode training": np.where(training, 1.0, 0.0),
            "mode compiled": np.where(compiled, 1.0, 0.0),
        },
        index=index,
    ).join(named)


def fitted(rows: pd.DataFrame, log_ratio: Floats) -> SumRatio:
    """Return the effects that explain the measured logarithms of whole / sum, for rows of a design."""
    if rows.empty:
        return SumRatio({})
    deviations = np.array([_DEVIATIONS[name.split(" ")[0]] for name in rows.columns])
    matrix = rows.to_numpy()
    weights = np.ones(len(rows))
    effects = np.zeros(len(deviations))
    for _ in range(_ROUNDS):
        weighted = matrix * (weights / _RESIDUAL**2)[:, None]
        effects = np.linalg.solve(weighted.T @ matrix + np.diag(1.0 / deviations**2), weighted.T @ log_ratio)
        size = np.abs(log_ratio - matrix @ effects) / _RESIDUAL
        weights = np.where(size > _HUBER, _HUBER / np.maximum(size, _HUBER), 1.0)
    return SumRatio({name: float(effect) for name, effect in zip(rows.columns, effects, strict=True)})
