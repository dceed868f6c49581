"""The warnings of all cases, each once."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import pandas as pd

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def case_warnings(cases: pd.DataFrame) -> Iterator[str]:
    """Yield each warning once, the most frequent first, with the number of its cases.

    Warnings that differ only in their numbers are one warning, with the numbers of the first case.
    """
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for text in cases["warnings"].dropna():
        found[_NUMBER.sub("0", text)][text] += 1
    for texts in sorted(found.values(), key=Counter.total, reverse=True):
        numbers = "; numbers of the first" if len(texts) > 1 else ""
        yield next(iter(texts)) + (f" ({texts.total()} cases{numbers})" if texts.total() > 1 else "")
