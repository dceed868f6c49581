"""Common tables of the workloads with one case each."""

from __future__ import annotations

from collections import defaultdict

import pandas as pd

from hpcbench.analysis.cases.labels import shared_by, telling_apart, varying
from hpcbench.analysis.cases.quantities import THROUGHPUT, Quantity, as_reported
from hpcbench.analysis.results import Results, Workload
from hpcbench.core.run_spec import COMMAND

_COMMANDS = "commands"
_OF_GRAPHS = ("parameter_count", "flops_per_item", "graph_fingerprint")


def lone_cases(results: Results) -> tuple[list[Workload], list[Workload]]:
    """Return the workloads to compare, and tables that combine workloads with one case each.

    A table has at least two cases. Its cases have the same ranking metric; models also the same task and unit of
    throughput.
    """
    alone: dict[tuple[str, Quantity, str], list[Workload]] = defaultdict(list)
    for work in results.workloads:
        if len(work.cases) == 1:
            alone[_kind(work, results)].append(work)
    several = {kind: works for kind, works in alone.items() if len(works) > 1}
    combined = {id(work) for works in several.values() for work in works}
    tables = [_table(kind[0], works, results) for kind, works in several.items()]
    return [work for work in results.workloads if id(work) not in combined], tables


def _kind(work: Workload, results: Results) -> tuple[str, Quantity, str]:
    quantity, case = results.ranked_by(work), work.cases.iloc[0]
    if case["framework"] == COMMAND:
        return _COMMANDS, quantity, ""
    return case["task"], quantity, as_reported(THROUGHPUT, work.cases).unit


def _table(kind: str, works: list[Workload], results: Results) -> Workload:
    cases = results.cases.loc[[index for work in works for index in work.cases.index]]
    of_commands, shown = kind == _COMMANDS, list(results.shown)
    what = _COMMANDS if of_commands else shared_by(cases)
    title = f"{', '.join(cases['experiment'].unique())}: {what}, one case per workload"
    names = varying(cases, shown) if of_commands else _identifying(cases, shown)
    return Workload(title, title, cases, names, is_combined=True)


def _identifying(models: pd.DataFrame, shown: list[str]) -> list[str]:
    """Return the columns that identify models: parameters and, if these do not suffice, sizes or the fingerprint."""
    found = telling_apart(models, shown)
    for name in varying(models, list(_OF_GRAPHS)):
        if found and not models[found].astype(str).duplicated().any():
            break
        found.append(name)
    return found
