"""What a chart shows in words: for who cannot see it, and what it does not show."""

from __future__ import annotations

from hpcbench.analysis.cases.labels import label
from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.analysis.results import Work
from hpcbench.report.text.numbers import value_in_words
from hpcbench.util.text import plural


def described(work: Work, quantity: Quantity) -> str:
    """The highest and the lowest."""
    known = work.cases[work.cases[quantity.column].notna()].sort_values(quantity.column, kind="stable")
    ends = {"highest": known.iloc[-1], "lowest": known.iloc[0]} if len(known) > 1 else {"only one": known.iloc[0]}
    said = (
        f"The {word} is {label(case, work.shown)} with {value_in_words(quantity, case[quantity.column])}."
        for word, case in ends.items()
    )
    return f"{capital(quantity.title)} of {plural(len(known), 'case')}. {' '.join(said)}"


def lacking(work: Work, quantity: Quantity) -> str:
    """How many cases have no point, to be added to a caption."""
    count = int(work.cases[quantity.column].isna().sum())
    return f" {count:,} of {len(work.cases):,} cases {'has' if count == 1 else 'have'} no such value." if count else ""


def capital(words: str) -> str:
    return words[:1].upper() + words[1:]
