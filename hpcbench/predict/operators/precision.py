"""The precision of operators: their data type, or one name for two data types of equal rates."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from hpcbench.predict.devices.device import BFLOAT16, FLOAT16, Device


def precisions(rows: pd.DataFrame, devices: Mapping[str, Device]) -> pd.Series[str]:
    """Return the data type of each row, in which float16 is bfloat16 on devices that compute both equally fast.

    Kernels of both differ in the instruction only, so that what was measured in one of them holds for the other.
    """
    equal = [name for name, each in devices.items() if each.flops_per_s(FLOAT16) == each.flops_per_s(BFLOAT16)]
    return rows["dtype"].mask((rows["dtype"] == FLOAT16) & rows["device"].isin(equal), BFLOAT16)
