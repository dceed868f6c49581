"""The columns of a table of results that describe what its cases are."""

from __future__ import annotations

from pathlib import PurePath

import pandas as pd

from hpcbench.models.source import ONNX

MODEL, TASK, DTYPE, EXECUTION, BATCH_SIZE = WORK = ("model", "task", "dtype", "execution", "batch_size")
_OF_NETWORKS = {"network": MODEL, "phase": TASK, "dtype": DTYPE, "execution": EXECUTION, "batch_size": BATCH_SIZE}
_ONNX_PREFIX = f"{ONNX}:"


def work(asked: pd.DataFrame) -> pd.DataFrame:
    """Return the columns WORK of the rows of `asked`, as of `cases.asked`; unknown text is empty.

    An ONNX file has its name without its folder, and no mode of execution.
    """
    found = asked[list(_OF_NETWORKS)].rename(columns=_OF_NETWORKS)
    is_file = found[MODEL].str.startswith(_ONNX_PREFIX)
    names = [
        PurePath(name.removeprefix(_ONNX_PREFIX)).name if own else name
        for name, own in zip(found[MODEL], is_file, strict=True)
    ]
    found[EXECUTION] = found[EXECUTION].mask(is_file, "")
    return found.assign(**{MODEL: names})
