"""Speedups and their intervals: which case they are over, and how often the interval holds the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpcbench.analysis.cases.bootstrap_replicates import Replicates
from hpcbench.analysis.cases.case_table import by_case, case_table
from hpcbench.analysis.cases.speedup import add_speedup

Rep = Callable[..., dict[str, Any]]
Table = Callable[..., pd.DataFrame]


def speedups(repetitions: pd.DataFrame, base: int | None = None) -> pd.DataFrame:
    return add_speedup(case_table(repetitions), Replicates(by_case(repetitions)), base)


def test_the_base_is_1_by_definition_and_the_others_have_an_interval(repetition: Rep, table: Table) -> None:
    times = [[0.40, 0.41, 0.39], [0.20, 0.21, 0.19]]
    rows = [repetition(case, number, [time]) for case, each in enumerate(times) for number, time in enumerate(each)]
    base, other = (case for _, case in speedups(table(*rows)).iterrows())
    assert base["speedup"] == 1
    assert pd.isna(base["speedup_ci_low"])
    assert pd.isna(base["speedup_ci_high"])
    assert other["speedup_ci_low"] < 2 == other["speedup"] < other["speedup_ci_high"]


def test_twice_the_items_in_the_same_time_are_a_speedup_of_2_with_the_same_relative_interval(
    repetition: Rep, table: Table
) -> None:
    times = [0.40, 0.41, 0.39]
    rows = [
        repetition(case, number, [time], items_per_step=32 * (case + 1))
        for case in range(2)
        for number, time in enumerate(times)
    ]
    other = speedups(table(*rows)).iloc[1]
    assert other["speedup"] == 2
    assert other["speedup_ci_low"] / 2 < 1 < other["speedup_ci_high"] / 2


def test_each_kind_of_work_has_its_own_base_and_a_base_that_is_named_only_its_own_kind(
    repetition: Rep, table: Table
) -> None:
    """Two kinds that take turns, a command, and a case that failed."""
    kinds = [{"parameter_count": 1}, {"parameter_count": 2}] * 2
    kinds += [{"framework": "command", "items_per_step": None}, {"status": "failed"}]
    rows = [repetition(case, 0, [0.8 / 2**case], **changes) for case, changes in enumerate(kinds)]
    bases = ["sweep-1/case-0", "sweep-1/case-1"] * 2
    each = speedups(table(*rows))
    assert each["speedup_base"].tolist() == [*bases, None, None]
    assert each["speedup"].tolist() == pytest.approx([1, 1, 4, 4, np.nan, np.nan], nan_ok=True)
    named = speedups(table(*rows), base=3)
    assert named["speedup_base"].tolist() == [None, "sweep-1/case-3", None, "sweep-1/case-3", None, None]
    assert named["speedup"].tolist() == pytest.approx([np.nan, 0.25, np.nan, 1, np.nan, np.nan], nan_ok=True)


def test_single_values_have_no_interval(repetition: Rep, table: Table) -> None:
    other = speedups(table(repetition(0, 0, [0.4]), repetition(1, 0, [0.2]))).iloc[1]
    assert other["speedup"] == 2
    assert pd.isna(other["speedup_ci_low"])


def test_a_speedup_is_the_same_whichever_other_cases_are_in_the_report(repetition: Rep, table: Table) -> None:
    def case(number: int, time: float) -> list[dict[str, Any]]:
        return [repetition(number, run, [time * (1 + run / 50)]) for run in range(3)]

    alone = speedups(table(*case(0, 0.4), *case(1, 0.2))).iloc[1]
    beside = speedups(table(*case(0, 0.4), *case(5, 0.3), *case(1, 0.2)))
    assert beside[beside["case"] == "case-1"].iloc[0]["speedup_ci_high"] == alone["speedup_ci_high"]


@pytest.mark.parametrize("runs", [3, 8])
def test_the_interval_holds_the_true_ratio_as_often_as_it_says(repetition: Rep, table: Table, runs: int) -> None:
    """The two cases are drawn apart; if their replicates came in one order, they would cancel, and it would not. Each
    trial is a kind of work of its own in one table: two hundred tables would only take longer."""
    generator = np.random.default_rng(7)
    trials = 200
    rows = [
        repetition(2 * trial + place, run, [time], parameter_count=trial)
        for trial in range(trials)
        for place, centre in enumerate((2.0, 1.0))
        for run, time in enumerate(centre * generator.lognormal(0, 0.05, runs))
    ]
    found = speedups(table(*rows)).iloc[1::2]
    hits = found["speedup_ci_low"].le(2.0) & found["speedup_ci_high"].ge(2.0)
    assert found["speedup_ci_low"].notna().sum() == trials
    assert 0.90 <= hits.mean() <= 1.0


def test_the_base_has_the_same_batch_size_or_the_same_items_if_no_other_case_has_it(
    repetition: Rep, table: Table
) -> None:
    def bases(*sizes: tuple[int, int]) -> list[str]:
        rows = [
            repetition(case, 0, [0.4], batch_size=batch, nodes=nodes, items_per_step=batch * nodes)
            for case, (batch, nodes) in enumerate(sizes)
        ]
        return [base.removeprefix("sweep-1/case-") for base in speedups(table(*rows))["speedup_base"]]

    weak, strong = [(8, 1), (8, 2), (8, 4)], [(32, 1), (16, 2), (8, 4)]
    assert bases(*weak) == ["0", "0", "0"]
    assert bases(*strong) == ["0", "0", "0"]
    assert bases((1, 1), (8, 1), (64, 1)) == ["0", "1", "2"]
    assert bases((1, 1), (1, 8), (8, 1), (8, 8)) == ["0", "0", "2", "2"], "8 items on 8 nodes are no base of one node"
