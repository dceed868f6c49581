"""The first line of a report: its sweeps, machines and archives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd


def heading(repetitions: pd.DataFrame, archives: Sequence[Path | None]) -> str:
    """Return the names of the sweeps with their machines, and with archives that they were read from."""
    sweeps = ", ".join(
        f"{sweep} on {site}" for sweep, site in repetitions.groupby("sweep", sort=False)["site"].first().items()
    )
    processors = "; ".join(repetitions["cpu_model"].dropna().unique())
    files = ", ".join(str(file) for file in archives if file)
    text = f"{sweeps} ({processors})" if processors else sweeps
    return f"{text}, from the archive {files}" if files else text
