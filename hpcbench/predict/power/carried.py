"""Correct the predicted power of operators on unmeasured devices by their shapes.

Utilization leaves errors that depend on the shape, for example those of libraries that split small products. Devices
have a part of these errors in common. Trees learn them from all measured devices, from features without dimension, and
half of a learned error is carried over: of two devices in the public sets, each predicts the errors of the other best
with factors from 0.3 to 0.7. A factor between 0 and 1 is the shrinkage of a random effect of devices (G. K. Robinson,
"That BLUP is a good thing", Statistical Science 6(1), 1991).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.operators.features import features
from hpcbench.predict.operators.roofline import bounds
from hpcbench.predict.power import learned
from hpcbench.predict.power.learned import Learned
from hpcbench.predict.tables.prediction import Floats

_CARRIED = 0.5  # of an error on other devices: see above
_LEAVES = 31  # of a tree: details of one device are not carried over
_SEED = 1  # of the choice of rows


def fit(rows: pd.DataFrame, devices: Mapping[str, Device], error: Floats) -> Learned:
    """Return models of `error`, the logarithm of measured over predicted power of rows of any devices.

    Devices count equally: each has at most as many random rows as the one with the fewest, among those with enough for
    a model of their own.
    """
    by_device = list(rows.groupby("device", observed=True).indices.values())
    fewest = min((len(each) for each in by_device if len(each) >= learned.FEWEST_ROWS), default=len(rows))
    random = np.random.default_rng(_SEED)
    kept = np.zeros(len(rows), dtype=bool)
    for places in by_device:
        kept[random.choice(places, min(len(places), fewest), replace=False)] = True
    chosen = rows[kept]
    return learned.fit(_shapes(chosen, devices), chosen, error[kept], exact=False, leaves=_LEAVES)


def correction(model: Learned | None, rows: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
    """Return what to add to the logarithm of the power by utilization: 0 for kinds that were not measured anywhere."""
    if model is None or not model.models:
        return np.zeros(len(rows))
    return _CARRIED * np.nan_to_num(model.log_value(_shapes(rows, devices), rows))


def _shapes(rows: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
    return features(rows, devices, bounds(rows, devices))
