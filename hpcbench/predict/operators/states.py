"""Which rows of operators or networks are of a lower clock or power limit than the device's own."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.operators.device_columns import of_rows

_SAME_LIMIT = 0.99  # fraction of a power limit from which on another one is equal: tools round it


def at_lower_clock(rows: pd.DataFrame, devices: Mapping[str, Device]) -> np.ndarray:
    """Return whether the locked clock of each row is below the boost clock of its device.

    Rows without a locked clock ran at up to the boost clock.
    """
    boost_mhz = of_rows(rows, devices, lambda device: device.boost_mhz)
    return np.asarray(rows["clock_mhz"].to_numpy(dtype="float64") < boost_mhz)


def at_lower_power_limit(rows: pd.DataFrame, devices: Mapping[str, Device]) -> np.ndarray:
    """Return whether the power limit of each row is below the board power of its device; rows may have no limit."""
    board_w = of_rows(rows, devices, lambda device: device.board_power_w)
    return np.asarray(rows["power_limit_w"].to_numpy(dtype="float64") < _SAME_LIMIT * board_w)


def lowered_power_limit(rows: pd.DataFrame, devices: Mapping[str, Device]) -> np.ndarray:
    """Return whether each measured row has a lower power limit than other rows of its device.

    A card whose highest limit is below the board power of its description is measured in its default state. Rows
    without a limit have the board power.
    """
    board_w = of_rows(rows, devices, lambda device: device.board_power_w)
    limit_w = rows["power_limit_w"].astype("float64").fillna(pd.Series(board_w, index=rows.index)).clip(upper=board_w)
    return np.asarray(limit_w < _SAME_LIMIT * limit_w.groupby(rows["device"]).transform("max"))


def lowered(rows: pd.DataFrame, devices: Mapping[str, Device]) -> np.ndarray:
    """Return which measured rows do not show the default state of their device, by clock or power limit."""
    return np.asarray(at_lower_clock(rows, devices) | lowered_power_limit(rows, devices))
