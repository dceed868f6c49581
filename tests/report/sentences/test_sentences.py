"""Every sentence of a report is true for its table: random tables, and an independent evaluation of each claim."""

from __future__ import annotations

import pytest

from hpcbench.errors import UserError
from hpcbench.report.load.results import results_of_table
from tests.report.sentences.evaluate import false_claims
from tests.report.sentences.random_tables import random_table

QUICK, ALL = 40, 10_000


def false_in(seed: int) -> list[str]:
    made = random_table(seed)
    try:
        results = results_of_table(made.repetitions, made.metrics, made.asked, made.base)
    except UserError:  # no case has a price
        return []
    return [f"table {seed}: {claim}" for claim in false_claims(made, results)]


@pytest.mark.parametrize("first", range(0, QUICK, 10))
def test_no_sentence_of_random_tables_is_false(first: int) -> None:
    assert [claim for seed in range(first, first + 10) for claim in false_in(seed)] == []


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_no_sentence_of_ten_thousand_random_tables_is_false() -> None:
    assert [claim for seed in range(ALL) for claim in false_in(seed)] == []
