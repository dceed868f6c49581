"""The times of networks that are asked for, and the parts that each of them sums."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.predict.networks.listed.sums import BACKWARD, FORWARD, HOST, PARTS
from hpcbench.predict.tables import networks as table
from hpcbench.predict.tables.prediction import TIME, Floats

FORWARD_TIME, BACKWARD_TIME = "forward_s", "backward_s"
QUANTITIES = (TIME, FORWARD_TIME, BACKWARD_TIME)
# A measured backward pass ends where the optimizer starts.
_PARTS_OF = {TIME: PARTS, FORWARD_TIME: (FORWARD,), BACKWARD_TIME: (BACKWARD,)}


def part_times(sums: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Return the time of the parts that a quantity sums, in seconds; 0 for the other parts."""
    wanted = _PARTS_OF[quantity]
    return pd.DataFrame({part: sums[part] if part in wanted else 0.0 for part in PARTS}, index=sums.index)


def host_time(sums: pd.DataFrame, quantity: str) -> Floats:
    """Return the time in which the host launches the kernels of a quantity, in seconds."""
    return sums[[f"{HOST}{part}" for part in _PARTS_OF[quantity]]].sum(axis=1).to_numpy()


def measured(networks: pd.DataFrame) -> dict[str, Floats]:
    """Return the measured times to fit on, in seconds; NaN if not measured.

    The time of a training step is fitted on only if its forward and backward times were not measured.
    """
    split = networks[FORWARD_TIME].notna() & networks[BACKWARD_TIME].notna() & (networks["phase"] == table.TRAINING)
    whole = networks["time_s"].where(~split)
    return {
        TIME: whole.to_numpy(dtype="float64"),
        FORWARD_TIME: networks[FORWARD_TIME].where(split).to_numpy(dtype="float64"),
        BACKWARD_TIME: networks[BACKWARD_TIME].where(split).to_numpy(dtype="float64"),
    }


def usable(seconds: Floats) -> np.ndarray:
    """Return which times can be fitted on: those that are numbers above 0."""
    return np.isfinite(seconds) & (seconds > 0)
