"""Make the results of a report from records: tables, the ranking quantity and the base case."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pandas as pd

from hpcbench.analysis.cases.bootstrap_replicates import Replicates
from hpcbench.analysis.cases.case_table import by_case, case_table
from hpcbench.analysis.cases.cost import add_costs, incomparable
from hpcbench.analysis.cases.flop_rates import add_flop_rates
from hpcbench.analysis.cases.labels import telling_apart
from hpcbench.analysis.cases.pareto import pareto
from hpcbench.analysis.cases.quantities import ENERGY, PRICE, QUANTITIES, THROUGHPUT, TIME, Quantity, price_of
from hpcbench.analysis.cases.ranking import ranked
from hpcbench.analysis.cases.speedup import add_speedup
from hpcbench.analysis.results import Results
from hpcbench.collect.table import MetricColumn, identifying_columns, metric_columns, repetition_table
from hpcbench.core.record import Record
from hpcbench.core.samples import PROBED
from hpcbench.errors import UserError
from hpcbench.report.load.find_case import row_of_case
from hpcbench.report.load.metrics import named, quantities_of


def results_of(
    records: list[Record],
    metric: str | None = None,
    base: str | None = None,
    searches: Collection[str] = (),
    same_workload: Collection[str] = (),
) -> Results:
    """Return the results of records, with cases ranked by `metric` (see results_of_table)."""
    return results_of_table(repetition_table(records), metric_columns(records), metric, base, searches, same_workload)


def results_of_table(
    repetitions: pd.DataFrame,
    columns: Mapping[str, MetricColumn],
    metric: str | None = None,
    base: str | None = None,
    searches: Collection[str] = (),
    same_workload: Collection[str] = (),
) -> Results:
    """Return the results of a table of runs with the metrics `columns`, with cases ranked by `metric`.

    `searches` are the sweeps that are tuning searches, `same_workload` the user parameters that do not change the
    workload of commands (see case_table). Raise UserError for an unknown metric or base case.
    """
    grouped = by_case(repetitions)
    replicates = Replicates(grouped)
    cases = add_costs(case_table(repetitions, grouped, same_workload), repetitions)
    cases = cases.assign(**pareto(cases))
    cases = add_speedup(add_flop_rates(cases), replicates, None if base is None else _base_row(cases, base))
    metrics = quantities_of(columns)
    quantity = _ranking(metric, metrics, cases)
    cases = ranked(cases, quantity, metrics.values())
    means = tuple(found.name for found in columns.values() if found.averages_rates)
    shown = telling_apart(cases, ["sweep", *identifying_columns(cases)])
    return Results(repetitions, cases, quantity, shown, replicates, base is not None, metrics, means, searches)


def _base_row(cases: pd.DataFrame, base: str) -> int:
    row = row_of_case(cases, base, "--baseline-case")
    if cases[TIME.column].isna()[row]:
        raise UserError(
            f"the case '{base}' was not measured", where="--baseline-case", hint="choose a case of the ranking"
        )
    return row


def _ranking(asked: str | None, metrics: Mapping[str, Quantity], cases: pd.DataFrame) -> Quantity:
    """Return the ranking quantity. Raise UserError for an unknown column."""
    if asked is not None:
        return _comparable(named(asked, QUANTITIES, metrics), cases)
    known = [metric for metric in metrics.values() if metric.more_is_better is not None]
    of_steps = cases[THROUGHPUT.column].notna().any() or cases[PROBED].notna().any()
    return known[0] if known and not of_steps else THROUGHPUT


def _comparable(quantity: Quantity, cases: pd.DataFrame) -> Quantity:
    """Return the quantity, for a price with the currency of the cases. Raise UserError for incomparable costs."""
    if quantity not in (PRICE, ENERGY):
        return quantity
    if reason := incomparable(cases, quantity.column):
        what = f"cases cannot be ranked by {quantity.column}: {reason}"
        raise UserError(what, where="--metric", hint="see docs/guides/cost-energy-carbon.md")
    return price_of(cases) if quantity == PRICE else quantity
