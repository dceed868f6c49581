"""The least time of recurrent layers on GPUs: their time steps run one after another.

Source: J. Appleyard, "Optimizing performance of recurrent neural networks on GPUs", 2016.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import GPU, Device
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Floats

# Time of a time step at the boost clock, in seconds. It is the least time of a kernel and the gap to the next one, an
# assumption for all GPUs.
_STEP_S = 5e-6


def least_times(rows: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
    """Return the least time of each row of a table of operators in seconds: 0 except for recurrent layers on GPUs."""
    gpus = [name for name, device in devices.items() if device.kind == GPU]
    is_recurrent = (rows["kind"] == table.RNN) & rows["device"].isin(gpus)
    steps = rows["rows"].fillna(0.0).to_numpy(dtype="float64")
    return np.where(is_recurrent, steps * _STEP_S, 0.0)
