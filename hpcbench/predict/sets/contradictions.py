"""Rows that contradict each other: the same work under the same conditions, with very different times."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from hpcbench.predict.sets.places import place
from hpcbench.predict.sets.row_digest import row_digests
from hpcbench.util.text import plural

_FACTOR = 2.0  # between the times of two rows


def contradictions(table: pd.DataFrame, key: Sequence[str]) -> list[str]:
    """Return a sentence per device with the number of rows whose times differ from those of equal rows by a factor."""
    if table.empty:
        return []
    digests = row_digests(table, key)
    times = table["time_s"].groupby(digests)
    rows = table[times.transform("max") > _FACTOR * times.transform("min")]
    return [
        f"{device}: {plural(len(of_device), 'row')} contradict rows of the same workload: times differ by more than "
        f"a factor of {_FACTOR:g}, for example {_place(of_device)}"
        for device, of_device in rows.groupby("device")
    ]


def _place(rows: pd.DataFrame) -> str:
    file = str(rows["file"].iloc[0])
    return f"{place(file, rows['row'].iloc[0])} of {file}"
