"""What a record calls a sample, and is none: no measurement becomes a number, and none is left out in silence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hpcbench.core import status
from hpcbench.core.samples import SAMPLES

_NONE = "not a number, infinite or negative"


def with_times_only(row: dict[Any, Any]) -> dict[Any, Any]:
    """A row of a repetition table without the samples that are no times, and a warning that says how many there were.

    Zero is a time: that of a step which is shorter than the clock can tell. A repetition of which nothing is left has
    failed, whatever its record says.
    """
    samples = row[SAMPLES]
    times = samples[np.isfinite(samples) & (samples >= 0)]
    if times.size == 0 and row["status"] == status.COMPLETED:
        error = f"none of its {samples.size} samples is a time ({_NONE})" if samples.size else "it has no samples"
        return {**row, SAMPLES: times, "status": status.FAILED, "error": error}
    if times.size == samples.size:
        return row
    count = samples.size - times.size
    odd = f"{count} of {samples.size} samples of repetition {row['repetition']} left out: {_NONE}"
    warnings = odd if pd.isna(row["warnings"]) else f"{row['warnings']}; {odd}"
    return {**row, SAMPLES: times, "warnings": warnings}
