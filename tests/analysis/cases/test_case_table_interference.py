"""Which runs speak for a case, where others with_interference some of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from hpcbench.analysis.cases.case_table import case_table

Rep = Callable[..., dict[str, Any]]
Table = Callable[..., pd.DataFrame]


def with_interference(by: str = "cpu") -> dict[str, Any]:
    return {"interference": "interference", "interference_causes": by}


def counts(cases: pd.DataFrame) -> tuple[Any, ...]:
    return tuple(cases.iloc[0][["runs", "interference_runs", "unmonitored", "attempts"]])


def test_times_are_those_of_the_repetitions_that_nobody_disturbed_and_the_others_are_counted(
    repetition: Rep, table: Table
) -> None:
    rows = [
        repetition(0, 0, [1.0], attempts=2),
        repetition(0, 1, [9.0], attempts=2, **with_interference("cpu, memory")),
        repetition(0, 2, [2.0], interference="unmonitored"),
        repetition(0, 3, [8.0], **with_interference("steal, cpu")),
        repetition(0, 4, [3.0]),
    ]
    cases = case_table(table(*rows))
    row = cases.iloc[0]
    assert (row["status"], row["measurements"], row["time_median_s"]) == ("completed", 3, 2.0)
    assert counts(cases) == (3, 2, 1, 7)
    assert (row["interference"], row["interference_causes"]) == ("unmonitored", "cpu, memory, steal")


def test_all_that_belongs_to_a_time_is_of_the_same_repetitions(repetition: Rep, table: Table) -> None:
    rows = [
        repetition(0, 0, [9.0], import_s=9.0, accuracy=0.9, **with_interference()),
        repetition(0, 1, [1.0], import_s=1.0, accuracy=0.1),
    ]
    row = case_table(table(*rows)).iloc[0]
    assert (row["time_median_s"], row["import_s"], row["accuracy"]) == (1.0, 1.0, 0.1)


def test_where_each_repetition_was_disturbed_they_are_used_all_the_same_and_it_is_said(
    repetition: Rep, table: Table
) -> None:
    cases = case_table(table(*(repetition(0, number, [1.0 + number], **with_interference()) for number in range(3))))
    assert counts(cases) == (3, 3, 0, 3)
    assert (cases["time_median_s"][0], cases["interference"][0]) == (2.0, "interference")


def test_a_repetition_that_failed_is_neither_disturbed_nor_unmonitored_and_its_attempts_count(
    repetition: Rep, table: Table
) -> None:
    rows = [repetition(0, 0, status="failed", attempts=3), repetition(0, 1, [1.0], **with_interference())]
    cases = case_table(table(*rows))
    assert counts(cases) == (1, 1, 0, 4)
    assert (cases["status"][0], cases["time_median_s"][0]) == ("failed", 1.0)


@pytest.mark.parametrize(
    ("verdicts", "of_case"),
    [
        (["clean", "clean"], "clean"),
        (["clean", "unmonitored"], "unmonitored"),
        (["clean", "interference"], "clean"),
        (["unmonitored", "interference"], "unmonitored"),
        (["interference", "interference"], "interference"),
    ],
)
def test_the_verdict_on_a_case_is_the_worst_on_the_repetitions_that_are_used(
    repetition: Rep, table: Table, verdicts: list[str], of_case: str
) -> None:
    rows = [repetition(0, number, interference=verdict) for number, verdict in enumerate(verdicts)]
    assert case_table(table(*rows))["interference"][0] == of_case


def test_a_case_that_was_not_run_has_no_verdict_and_no_attempts(repetition: Rep, table: Table) -> None:
    cases = case_table(table(repetition(0, 0, status="planned", attempts=None), repetition(1, 0)))
    assert counts(cases) == (0, 0, 0, 0)
    assert pd.isna(cases["interference"][0])
    assert pd.isna(cases["interference_causes"][0])
