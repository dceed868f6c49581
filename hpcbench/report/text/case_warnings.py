"""The warnings of all cases, each once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def case_warnings(cases: pd.DataFrame, name_of: Callable[[pd.Series[Any]], str]) -> Iterator[str]:
    """Yield each warning once, the most frequent first, with the number of its cases, or the name of the only one.

    Warnings that differ only in their numbers are one warning, with the numbers of the first case.
    """
    found: dict[str, list[int]] = defaultdict(list)
    texts = cases["warnings"].tolist()
    for row, text in enumerate(texts):
        if not pd.isna(text):
            found[_NUMBER.sub("0", text)].append(row)
    for rows in sorted(found.values(), key=len, reverse=True):
        first = texts[rows[0]]
        if len(rows) > 1:
            numbers = "; numbers of the first" if len({texts[row] for row in rows}) > 1 else ""
            yield f"{first} ({len(rows)} cases{numbers})"
        else:
            yield f"{first} ({name_of(cases.iloc[rows[0]])})" if len(cases) > 1 else first
