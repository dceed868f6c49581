"""Commands that are the only case of their workload, in one table, since there is nothing to compare them with."""

from __future__ import annotations

from collections import defaultdict

from hpcbench.analysis.cases.labels import varying
from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.analysis.results import Results, Workload
from hpcbench.core.run_spec import COMMAND


def lone_commands(results: Results) -> tuple[list[Workload], list[Workload]]:
    """Return the workloads to compare, and tables of the others, one for each quantity that ranks them.

    A command that would be alone in such a table is among the workloads to compare.
    """
    alone: dict[Quantity, list[Workload]] = defaultdict(list)
    for work in results.workloads:
        if len(work.cases) == 1 and work.cases["framework"].iat[0] == COMMAND:
            alone[results.ranked_by(work)].append(work)
    tables = [_table(works, results) for works in alone.values() if len(works) > 1]
    told = {id(work) for works in alone.values() if len(works) > 1 for work in works}
    return [work for work in results.workloads if id(work) not in told], tables


def _table(works: list[Workload], results: Results) -> Workload:
    cases = results.cases.loc[[index for work in works for index in work.cases.index]]
    title = f"{', '.join(cases['experiment'].unique())}: commands, each the only case of its workload"
    return Workload(title, title, cases, varying(cases, list(results.shown)))
