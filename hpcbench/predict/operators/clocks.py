"""Which operators ran, or are asked for, at a lower clock than the device's own."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.operators.device_columns import of_rows


def at_lower_clock(rows: pd.DataFrame, devices: Mapping[str, Device]) -> np.ndarray:
    """Return whether the locked clock of each row of a table of operators is below the boost clock of its device.

    Rows without a locked clock ran at up to the boost clock.
    """
    boost_mhz = of_rows(rows, devices, lambda device: device.boost_mhz)
    return np.asarray(rows["clock_mhz"].to_numpy(dtype="float64") < boost_mhz)
