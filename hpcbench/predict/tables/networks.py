"""The table of networks: one row per whole network on a device, in one form for all sources.

Times are seconds per step of one batch, powers watts, energies joules per step, clocks megahertz.
"""

from __future__ import annotations

import pandas as pd

INFERENCE, TRAINING = "inference", "training"
EAGER, COMPILED = "eager", "compiled"

# What runs. `list_id` names the operators of the network in the table of lists; empty if it is unknown.
# `kv_dtype` is the data type of cached keys and values of requests; empty if it is bfloat16.
# `gmacs` and `mactivations` are for one item, in 10^9 MACs and 10^6 outputs of convolutions and linear layers.
TEXT = ("network", "family", "phase", "dtype", "kv_dtype", "layout", "execution", "optimizer", "data", "list_id")
SIZES = ("batch_size", "sequence_length", "image_size", "new_tokens", "mparams", "gmacs", "mactivations")
WORK = (*TEXT, *SIZES)
# `devices` is the number of devices that compute a row together; NaN is one.
CONDITIONS = ("device", "devices", "library", "clock_mhz", "power_limit_w", "threads")
# `time_s` is of a step, or of the unit in `unit`: an epoch, or a request.
TARGETS = ("time_s", "forward_s", "backward_s", "power_w", "energy_j")
ORIGIN = ("file", "row")
COLUMNS = (*ORIGIN, *CONDITIONS, *WORK, "unit", *TARGETS)
STEP, EPOCH, REQUEST = "step", "epoch", "request"
_TEXT = ("file", "device", "library", "unit", *TEXT)


def complete(networks: pd.DataFrame) -> pd.DataFrame:
    """Return a table with all columns, in their order: missing text is empty, missing numbers are NaN."""
    found = networks.reindex(columns=list(COLUMNS))
    text = {name: found[name].astype("object").where(found[name].notna(), "") for name in _TEXT}
    numbers = {name: found[name].astype("float64") for name in COLUMNS if name not in (*_TEXT, "row")}
    return found.assign(**text, **numbers, row=found["row"].fillna(-1).astype("int64"))
