"""Tables of operators made by hand, with the columns and types of `operators.parquet`."""

from __future__ import annotations

from typing import Any

import pandas as pd

from hpcbench.collect.profiles.columns import columns

_PLACE = {
    "sweep": "sweep-1",
    "case": "c1",
    "run": 1,
    "attempt": 1,
    "device": "cpu",
    "phase": "forward",
    "calls_per_step": 1,
}


def operator_rows(*rows: dict[str, Any], **changes: Any) -> pd.DataFrame:
    """A table of these operators; what they do not say is of one run of one case, or unknown."""
    types = {column.name: column.kind for column in columns()}
    made = [
        {**_PLACE, "operator": f"aten.{row['kind']}", "arguments": "[]", "members": "[]", **row, **changes}
        for row in rows
    ]
    return pd.DataFrame(made, columns=list(types)).astype(types)
