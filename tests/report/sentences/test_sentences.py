"""Every sentence of a report is true for its table: random tables, and an independent evaluation of each claim."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pandas as pd
import pytest

from hpcbench.errors import UserError
from hpcbench.report.load.results import results_of_table
from hpcbench.util.gc_pause import without_garbage_collection
from tests.report.sentences.comparisons import false_in_comparison, random_pair
from tests.report.sentences.evaluate import false_claims
from tests.report.sentences.histories import false_in_history, random_past
from tests.report.sentences.random_tables import random_table
from tests.report.sentences.rooflines import false_in_roofline, random_roofs
from tests.report.sentences.searches import false_in_search, random_search

QUICK, ALL, PART, AT_ONCE = 40, 10_000, 500, 50


def _of_report(seed: int) -> Iterator[str]:
    made = random_table(seed)
    try:
        results = results_of_table(made.repetitions, made.metrics, made.asked, made.base)
    except UserError:  # no case has a price
        return
    yield from false_claims(made, results)


KINDS: dict[str, Callable[[int], Iterator[str]]] = {
    "report": _of_report,
    "compare": lambda seed: false_in_comparison(random_pair(seed)),
    "history": lambda seed: false_in_history(random_past(seed)),
    "roofline": lambda seed: false_in_roofline(random_roofs(seed)),
    "tune": lambda seed: false_in_search(random_search(seed)),
}


def false_in(seed: int, kind: str = "report") -> list[str]:
    try:
        return [f"{kind} {seed}: {claim}" for claim in KINDS[kind](seed)]
    except Exception as error:
        raise AssertionError(f"no report: {kind} {seed}") from error


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", range(0, QUICK, 10))
def test_no_sentence_of_random_tables_is_false(kind: str, first: int) -> None:
    count = 10 if kind == "report" else 3
    assert [claim for seed in range(first, first + count) for claim in false_in(seed, kind)] == []


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", range(0, ALL, PART))
def test_no_sentence_of_ten_thousand_random_tables_is_false(kind: str, first: int) -> None:
    """Strings of Python instead of pyarrow's, and no collection of garbage within a table, save a third of the time."""
    found: list[str] = []
    for start in range(first, first + PART, AT_ONCE):
        with pd.option_context("mode.string_storage", "python"), without_garbage_collection():
            found += [claim for seed in range(start, start + AT_ONCE) for claim in false_in(seed, kind)]
        gc.collect()
    assert found == []
