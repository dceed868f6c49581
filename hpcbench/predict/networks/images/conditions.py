"""Conditions that change the factors of components: layout, phase, versions, precision and the batch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.networks.images.rooflines import rates
from hpcbench.predict.networks.images.versions import at_least
from hpcbench.predict.tables.networks import COMPILED, TRAINING
from hpcbench.predict.tables.prediction import Floats

_CHANNELS_LAST = ("nhwc", "channels_last")
_RELEASES = (2.00, 2.03)  # of PyTorch, between those of public data sets
_LARGE_BATCH = 1024.0
_RIDGE_POINT = 100.0  # FLOPs per byte, about that of a GPU with matrix units
CONDITIONS = (
    *("channels_last", "training", "compiled", "torch_2.0", "torch_2.3"),
    *("small_batch", "vector_units", "converted_half", "ridge_point"),
)


def conditions(networks: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
    """Return the conditions, one row per network.

    The last three depend on the device: two on its units, and one on its ridge point. The effect of the ridge point
    lets a device with many FLOPs per byte reach a smaller fraction of them.
    """
    rate = rates(networks, devices)
    version = rate["version"].to_numpy()
    batch = np.clip(networks["batch_size"].fillna(1.0).to_numpy(), 1.0, _LARGE_BATCH)
    has_matrix, is_half = rate["has_matrix"].to_numpy(dtype=bool), rate["is_half"].to_numpy(dtype=bool)
    columns = {
        "channels_last": networks["layout"].isin(_CHANNELS_LAST),
        "training": networks["phase"] == TRAINING,
        "compiled": networks["execution"] == COMPILED,
        "torch_2.0": at_least(version, _RELEASES[0]),
        "torch_2.3": at_least(version, _RELEASES[1]),
        "small_batch": 1.0 - np.log(batch) / np.log(_LARGE_BATCH),
        "vector_units": ~has_matrix,
        "converted_half": is_half & ~has_matrix,
        "ridge_point": np.log(rate["matrix"] / rate["bandwidth"] / _RIDGE_POINT),
    }
    return np.column_stack([np.asarray(columns[name], dtype="float64") for name in CONDITIONS])
