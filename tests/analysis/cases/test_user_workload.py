"""Workloads of commands: user parameters distinguish them, unless they do not change the work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from hpcbench.analysis.cases.case_table import case_table
from hpcbench.analysis.cases.labels import short_titles, titles
from hpcbench.analysis.cases.user_workload import differing_user_parameters
from hpcbench.analysis.cases.workloads import work_groups

Rep = Callable[..., dict[str, Any]]
Table = Callable[..., pd.DataFrame]
UNKNOWN = dict.fromkeys(("model", "task", "parameter_count", "flops_per_item", "items_per_step", "dtype", "math_mode"))


def commands(repetition: Rep, table: Table, *points: dict[str, Any], same: tuple[str, ...] = ()) -> pd.DataFrame:
    own = {**UNKNOWN, "framework": "command", "command": "./bench"}
    return case_table(table(*(repetition(n, 0, [0.1], **own, **each) for n, each in enumerate(points))), None, same)


def titles_of(works: list[pd.DataFrame]) -> list[str]:
    firsts = [cases.to_dict("records")[0] for cases in works]
    return titles(works, firsts, short_titles(works, firsts))


def test_commands_that_differ_in_a_user_parameter_have_different_workloads_and_titles(
    repetition: Rep, table: Table
) -> None:
    points = [{"param_size": size, "param_note": "x", "nodes": nodes} for size in (10, 200) for nodes in (1, 2)]
    cases = commands(repetition, table, *points)
    assert work_groups(cases).tolist() == [0, 0, 1, 1]
    assert differing_user_parameters(cases) == ["param_size"]
    works = [cases.iloc[:2], cases.iloc[2:]]
    assert titles_of(works) == [
        "study: ./bench (study with size=10)",
        "study: ./bench (study with size=200)",
    ]


def test_cases_that_differ_in_a_parameter_of_the_same_workload_are_compared(repetition: Rep, table: Table) -> None:
    cases = commands(repetition, table, {"param_algo": "a"}, {"param_algo": "b"}, same=("algo",))
    assert work_groups(cases).tolist() == [0, 0]
    assert differing_user_parameters(cases) == []


def test_models_with_other_options_have_different_workloads_even_with_the_same_counts(
    repetition: Rep, table: Table
) -> None:
    options = ['{"layers": 1}', '{"layers": 2}']
    cases = case_table(table(*(repetition(n, 0, [0.1], model_options=each) for n, each in enumerate(options))))
    assert work_groups(cases).tolist() == [0, 1]
    works = [cases.iloc[:1], cases.iloc[1:]]
    assert len(set(titles_of(works))) == 2
