"""A table of operators that was read from CSV, with the types of its columns."""

from __future__ import annotations

import pandas as pd

from hpcbench.collect.profiles.columns import columns

_TRUE = {"True": True, "true": True, "False": False, "false": False}


def typed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a table of operators whose columns of text have their types; absent columns are null.

    Text in a column of numbers becomes null.
    """
    found: dict[str, pd.Series] = {}
    for column in columns():
        values = rows[column.name] if column.name in rows else pd.Series(None, index=rows.index, dtype="object")
        if column.kind == "boolean" and values.dtype.kind != "b":
            values = values.astype("object").map(lambda value: _TRUE.get(str(value)))
        elif column.kind != "string":
            values = pd.to_numeric(values, errors="coerce")
        found[column.name] = values
    return pd.DataFrame(found, index=rows.index).astype({column.name: column.kind for column in columns()})
