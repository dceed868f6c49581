"""Results of made-up runs, put together as `hpcbench report` does; none of their numbers was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.bootstrap_replicates import Replicates
from hpcbench.analysis.cases.case_table import by_case, case_table
from hpcbench.analysis.cases.cost import add_costs
from hpcbench.analysis.cases.labels import telling_apart
from hpcbench.analysis.cases.pareto import pareto
from hpcbench.analysis.cases.quantities import THROUGHPUT, Quantity
from hpcbench.analysis.cases.ranking import ranked
from hpcbench.analysis.cases.speedup import add_speedup
from hpcbench.analysis.results import Results
from hpcbench.collect.table import PARAMETERS, identifying_columns
from tests.analysis.conftest import MEASURED, SETTINGS, USUAL, WHOLE, Row

NOISE = (1.00, 1.01, 0.99, 1.00, 1.01, 0.99)  # what the repetitions of a case multiply its time with


def repetitions_of(case: int, time_s: float, noise: Sequence[float] = NOISE, **changes: Any) -> list[Row]:
    """The rows of a case whose steps take so long; with a `status` of its own, one that was not measured."""
    own = {**USUAL, **SETTINGS, "case": f"case-{case}", "case_index": case, **changes}
    if "status" in changes:
        return [
            {
                **own,
                **dict.fromkeys(set(MEASURED) - set(PARAMETERS)),
                "run": 0,
                "error": changes.get("error", "it broke"),
            }
        ]
    return [{**own, "run": run, "times_s": np.array([time_s * part])} for run, part in enumerate(noise)]


def results(
    *cases: list[Row], quantity: Quantity = THROUGHPUT, base: int | None = None, metrics: Sequence[Quantity] = ()
) -> Results:
    repetitions = pd.DataFrame([row for rows in cases for row in rows]).astype(dict.fromkeys(WHOLE, "Int64"))
    grouped = by_case(repetitions)
    replicates = Replicates(grouped)
    found = add_costs(case_table(repetitions, grouped), repetitions)
    found = add_speedup(found.assign(**pareto(found)), replicates, base)
    found = ranked(found, quantity)
    shown = telling_apart(found, ["sweep", *identifying_columns(found)])
    known = {metric.column: metric for metric in metrics}
    return Results(repetitions, found, quantity, shown, replicates, base is not None, known)
