"""Descriptions of charts as text, for screen readers."""

from __future__ import annotations

from typing import Any

import pandas as pd

from hpcbench.analysis.cases.labels import label
from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.analysis.results import Workload
from hpcbench.report.text.numbers import value_in_words
from hpcbench.util.text import plural


def described(work: Workload, quantity: Quantity) -> str:
    """Return a sentence on the cases with the highest and the lowest value."""
    known = work.cases[work.cases[quantity.column].notna()].sort_values(quantity.column, kind="stable")
    ends = {"highest": known.iloc[-1], "lowest": known.iloc[0]} if len(known) > 1 else {"only case": known.iloc[0]}
    text = (
        f"The {word} {_named(case, work)} {value_in_words(quantity, case[quantity.column])}."
        for word, case in ends.items()
    )
    return f"{capital(quantity.title)} of {plural(len(known), 'case')}. {' '.join(text)}"


def _named(case: pd.Series[Any], work: Workload) -> str:
    return f"is {label(case, work.shown)} with" if work.shown else "has"


def lacking(work: Workload, quantity: Quantity) -> str:
    """Return the last sentence of a caption, on the number of cases without a value; empty if there are none."""
    count = int(work.cases[quantity.column].isna().sum())
    have = "has" if count == 1 else "have"
    return f" {count:,} of {len(work.cases):,} cases {have} no {quantity.title}." if count else ""


def capital(words: str) -> str:
    """Return words with a capital first letter."""
    return words[:1].upper() + words[1:]
