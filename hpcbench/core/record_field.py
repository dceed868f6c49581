"""Fields of records: their meaning, and the columns that tables make of them."""

import dataclasses
from typing import Any


def described(meaning: str, column: str = "", unit: str = "", default: Any = dataclasses.MISSING) -> Any:
    """Return a field with its meaning, and the name and unit of its column if tables have one.

    Absent fields of a record take `default`; a field without a default is required.
    """
    metadata = {"meaning": meaning, "column": column, "unit": unit}
    if default is dataclasses.MISSING:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)
