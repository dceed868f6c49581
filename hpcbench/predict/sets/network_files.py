"""The files of networks: `networks_time_*.parquet` and `networks_energy_*.parquet`, as the table of networks."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import BFLOAT16, FLOAT32, TF32
from hpcbench.predict.sets.columns import Getter, get_flag, get_text
from hpcbench.predict.sets.data_types import cache_types, data_types
from hpcbench.predict.tables import networks as table

_MS, _MW = 1e-3, 1e-3


def networks(file: str, rows: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Return the rows of a file as the table of networks, in the same order. Targets may be absent.

    A row is a step, an epoch or a request: `unit`.
    """
    get = Getter(rows)

    def text(*names: str) -> pd.Series:
        """Return the first of these columns that exists."""
        return next((get_text(rows, name) for name in names if name in rows), get_text(rows, names[0]))

    is_epoch, is_request = unit == table.EPOCH, unit == table.REQUEST
    is_image = (text("graph") == "") & (unit == table.STEP)
    dtype = data_types(text("dtype", "precision"))
    milliwatts = get("power_mw") * _MW
    found = pd.DataFrame(
        {
            "file": file,
            "row": rows.index,
            "device": text("device"),
            "devices": get("devices") if is_request else np.nan,
            "library": text("torch", "framework"),
            "network": text("network"),
            "family": text("family"),
            "phase": text("phase").replace("", table.TRAINING if is_epoch else table.INFERENCE),
            # Frameworks compute convolutions of float32 in TF32 unless that is switched off, as hpcbench does.
            "dtype": dtype.mask(is_image & (dtype == FLOAT32), TF32),
            "kv_dtype": cache_types(rows, BFLOAT16) if is_request else "",
            "layout": text("layout"),
            "execution": np.where(get_flag(rows, "compiled"), table.COMPILED, table.EAGER),
            "optimizer": text("optimizer"),
            "data": text("dataset"),
            "list_id": text("graph"),
            "unit": unit,
            "batch_size": get("batch_size"),
            "sequence_length": get("input_tokens") if is_request else get("sequence_length"),
            "new_tokens": get("output_tokens"),
            "image_size": get("image_size"),
            "mparams": get("mparams"),
            "gmacs": get("gmacs"),
            "mactivations": get("mactivations"),
            "clock_mhz": get("clock_mhz"),
            "power_limit_w": get("power_limit_w"),
            "time_s": _first(get("time_ms") * _MS, get("time_s"), get("time_per_epoch_s")),
            "forward_s": get("forward_ms") * _MS,
            "backward_s": get("backward_ms") * _MS,
            "power_w": _first(get("power_w"), milliwatts),
            "energy_j": _first(get("energy_j"), get("energy_per_epoch_j")),
        }
    )
    return table.complete(found)


def _first(*candidates: np.ndarray) -> np.ndarray:
    """Return the first value of each row that is not NaN."""
    found = candidates[0]
    for other in candidates[1:]:
        found = np.where(np.isnan(found), other, found)
    return found
