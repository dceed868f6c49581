"""Remove measurements that are not valid times, with a warning in the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hpcbench.core import status
from hpcbench.core.samples import SAMPLES

_CHANGED = (SAMPLES, "status", "error", "warnings")
_NONE = "not a number, infinite or negative"


def only_times(repetitions: pd.DataFrame) -> pd.DataFrame:
    """Return a run table without measurements that are not finite times of at least 0 s (see with_times_only)."""
    samples = repetitions[SAMPLES].tolist()
    pooled = np.concatenate(samples) if samples else np.empty(0)
    unmeasured = (repetitions["status"] == status.COMPLETED) & (repetitions[SAMPLES].map(len) == 0)
    if np.isfinite(pooled).all() and (pooled >= 0).all() and not unmeasured.any():
        return repetitions
    rows = [with_times_only(row) for row in repetitions.to_dict("records")]
    names = [name for name in _CHANGED if name in repetitions]
    changed = {name: pd.Series([row.get(name) for row in rows], repetitions.index) for name in names}
    return repetitions.assign(**changed)


def with_times_only(row: dict[Any, Any]) -> dict[Any, Any]:
    """Return a row of a run table without measurements that are not finite or below 0 s, and a warning with a count.

    Zero is valid: a step can be shorter than the resolution of the clock. A completed run without valid measurements
    gets the status FAILED.
    """
    samples = row[SAMPLES]
    times = samples[np.isfinite(samples) & (samples >= 0)]
    if times.size == 0 and row["status"] == status.COMPLETED:
        invalid = f"none of its {samples.size} measurements is a time ({_NONE})"
        error = invalid if samples.size else "it has no measurements"
        return {**row, SAMPLES: times, "status": status.FAILED, "error": error}
    if times.size == samples.size:
        return row
    count = samples.size - times.size
    odd = f"{count} of {samples.size} measurements of run {row['run']} left out: {_NONE}"
    warnings = odd if pd.isna(row["warnings"]) else f"{row['warnings']}; {odd}"
    return {**row, SAMPLES: times, "warnings": warnings}
