"""Rows that contradict each other: the same work under the same conditions, with very different times."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from hpcbench.predict.sets.row_digest import row_digests
from hpcbench.util.text import plural

FACTOR = 2.0  # between the times of two rows


def contradictions(table: pd.DataFrame, key: Sequence[str], factor: float = FACTOR) -> list[str]:
    """Return a sentence per device with the number of groups of equal rows whose times differ by more than a factor."""
    if table.empty:
        return []
    times = table["time_s"].groupby(row_digests(table, key)).agg(["min", "max", "size"])
    digests = set(times.index[times["max"] > factor * times["min"]])
    if not digests:
        return []
    rows = table[pd.Series(row_digests(table, key), index=table.index).isin(digests)]
    return [
        f"{device}: {plural(len(of_device), 'row')} contradict rows of the same work: times differ by more than "
        f"a factor of {factor:g}, for example {_place(of_device)}"
        for device, of_device in rows.groupby("device")
    ]


def _place(rows: pd.DataFrame) -> str:
    return f"row {rows['row'].iloc[0]} of {rows['file'].iloc[0]}"
