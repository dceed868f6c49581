"""The first line of a report."""

from __future__ import annotations

from pathlib import Path

import pandas as pd


def heading(repetitions: pd.DataFrame, archives: list[Path | None]) -> str:
    """Return the names of the sweeps with their machines, and with archives that they were read from."""
    sweeps = ", ".join(
        f"{sweep} on {site}" for sweep, site in repetitions.groupby("sweep", sort=False)["site"].first().items()
    )
    processors = "; ".join(repetitions["cpu_model"].dropna().unique())
    files = ", ".join(str(file) for file in archives if file)
    title = f"{sweeps} ({processors})" if processors else sweeps
    return f"{title}, from the archive {files}" if files else title
