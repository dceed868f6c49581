"""One rule decides whether a run is retried; what it decides from is the attempts so far."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from hpcbench.core.start_rules.retry_rule import is_tried_again


class Ended(NamedTuple):
    status: str
    verdict: str | None


CLEAN, INTERFERENCE, UNMONITORED = (Ended("completed", verdict) for verdict in ("clean", "interference", "unmonitored"))
FAILED, LOST, CANCELLED = (Ended(status, None) for status in ("failed", "node_failure", "cancelled"))
RETRIED = ("failed", "node_failure")


@pytest.mark.parametrize(
    ("attempts", "again"),
    [
        ([], True),
        ([CLEAN], False),
        ([UNMONITORED], False),
        ([CANCELLED], False),
        ([INTERFERENCE], True),
        ([INTERFERENCE, INTERFERENCE], False),
        ([FAILED], True),
        ([FAILED, LOST], True),
        ([FAILED, LOST, FAILED], False),
        ([INTERFERENCE, CLEAN], False),
        ([FAILED, CLEAN], False),
        ([FAILED, CANCELLED], False),
    ],
)
def test_each_cause_has_its_number_of_new_attempts(attempts: list[Ended], again: bool) -> None:
    assert is_tried_again(attempts, 1, RETRIED, 2) == again


@pytest.mark.parametrize(
    ("attempts", "again"),
    [
        ([FAILED, INTERFERENCE], True),
        ([FAILED, FAILED, INTERFERENCE], True),
        ([FAILED, INTERFERENCE, INTERFERENCE], False),
        ([INTERFERENCE, FAILED], True),
        ([INTERFERENCE, FAILED, FAILED], True),
        ([INTERFERENCE, FAILED, FAILED, FAILED], False),
        ([INTERFERENCE, LOST, INTERFERENCE], False),
        ([INTERFERENCE, CANCELLED], False),
    ],
)
def test_neither_limit_counts_the_attempts_of_the_other_cause(attempts: list[Ended], again: bool) -> None:
    assert is_tried_again(attempts, 1, RETRIED, 2) == again


@pytest.mark.parametrize("attempt", [INTERFERENCE, FAILED])
def test_a_limit_of_zero_allows_no_new_attempt(attempt: Ended) -> None:
    assert not is_tried_again([attempt], 0, RETRIED, 0)
    assert is_tried_again([attempt], 1, RETRIED, 1)


def test_outcomes_that_are_not_retried_end_a_run() -> None:
    assert not is_tried_again([LOST], 9, ("failed",), 9)
