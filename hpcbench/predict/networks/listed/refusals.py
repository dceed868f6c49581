"""Why the time of a network is not predicted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.devices.device import Device
from hpcbench.predict.networks.listed import targets
from hpcbench.predict.tables import networks as table
from hpcbench.predict.tables.operators import too_much_unknown


def reasons(
    networks: pd.DataFrame, sums: pd.DataFrame, lists: Collection[str], devices: Mapping[str, Device], quantity: str
) -> NDArray[np.object_]:
    """Return why each network is refused; empty if it is predicted. `sums` has one row per network."""
    seconds = targets.part_times(sums, quantity).sum(axis=1).to_numpy()
    found = [
        _reason(row, unknown, lists, devices, quantity) or _without_operators(row, total, quantity)
        for row, unknown, total in zip(networks.to_dict("records"), sums["unknown"].to_numpy(), seconds, strict=True)
    ]
    return np.array(found, dtype=object)


def _reason(
    row: Mapping[Any, Any], unknown: float, lists: Collection[str], devices: Mapping[str, Device], quantity: str
) -> str:
    if row["device"] not in devices:
        return f"description of device '{row['device']}' not found"
    if not row["list_id"]:
        return f"network '{row['network']}' has no list of operators"
    if row["list_id"] not in lists:
        return f"list of operators '{row['list_id']}' not found"
    if quantity == targets.BACKWARD_TIME and row["phase"] != table.TRAINING:
        return "inference has no backward pass"
    return too_much_unknown(unknown)


def _without_operators(row: Mapping[Any, Any], seconds: float, quantity: str) -> str:
    if seconds > 0:
        return ""
    part = {targets.FORWARD_TIME: " of the forward pass", targets.BACKWARD_TIME: " of the backward pass"}
    return f"list of operators '{row['list_id']}' has no operators{part.get(quantity, '')}"
