"""Published times of operators next to the measured ones, matched by operator, sizes, phase and number of tasks."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from hpcbench.models.operators.catalog import OPERATORS, operator_of
from hpcbench.models.operators.operator import Operator

PREFIX = "published_ms_"  # of the columns, before device and precision

Problem = tuple[Operator, str, int]  # operator with sizes, phase, and tasks (1 unless it is collective)
Times = Mapping[str, Mapping[Problem, float]]  # in ms, by column and problem


def with_published_times(cases: pd.DataFrame, times: Times) -> pd.DataFrame:
    """Return the cases with a column for each column of published times that has a time for one of them."""
    names = ("operator", "sizes", "phase", "nodes", "tasks_per_node")
    problems = [_problem(*each) for each in zip(*(cases[name] for name in names), strict=True)]
    found = {
        column: [math.nan if problem is None else known.get(problem, math.nan) for problem in problems]
        for column, known in times.items()
    }
    return cases.assign(**{column: values for column, values in found.items() if not all(map(math.isnan, values))})


def published_columns(cases: pd.DataFrame) -> list[str]:
    """Return the columns of published times that have a time for a case."""
    return [name for name in map(str, cases) if name.startswith(PREFIX) and cases[name].notna().any()]


def _problem(name: Any, sizes: Any, phase: Any, nodes: Any, tasks_per_node: Any) -> Problem | None:
    """Return the problem of a case; None for a network, and for an operator of the user."""
    if name not in OPERATORS:
        return None
    operator = operator_of(name, json.loads(sizes))
    return operator, str(phase), int(nodes * tasks_per_node) if operator.is_collective else 1
