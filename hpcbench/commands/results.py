"""From records to the results that a report is made of: tables, a ranking, a base case."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from hpcbench.analysis.cost import add_costs, incomparable
from hpcbench.analysis.naming import telling_apart
from hpcbench.analysis.pareto import pareto
from hpcbench.analysis.quantities import ENERGY, PRICE, QUANTITIES, THROUGHPUT, TIME, Quantity
from hpcbench.analysis.replicates import Replicates
from hpcbench.analysis.results import Results
from hpcbench.analysis.speedup import add_speedup
from hpcbench.analysis.summary import by_case, case_table, ranked
from hpcbench.collect.records import Record
from hpcbench.collect.table import MetricColumn, metric_columns, repetition_table
from hpcbench.commands.cases import row_of_case
from hpcbench.commands.reading import candidates
from hpcbench.errors import UserError, nearest


def results_of(records: list[Record], metric: str | None = None, base: str | None = None) -> Results:
    """The tables of these records, ranked. Raises UserError for a metric or a base case that is not there."""
    repetitions = repetition_table(records)
    grouped = by_case(repetitions)
    replicates = Replicates(grouped)
    cases = add_costs(case_table(repetitions, grouped), repetitions)
    cases = cases.assign(**pareto(cases))
    cases = add_speedup(cases, replicates, None if base is None else _base_row(cases, base))
    metrics = metric_columns(records)
    quantity = _ranking(metric, metrics, cases)
    cases = ranked(cases, quantity)
    known = {column: _of_command(column, found) for column, found in metrics.items()}
    means = tuple(found.name for found in metrics.values() if found.averages_rates)
    shown = telling_apart(cases, candidates(cases))
    return Results(repetitions, cases, quantity, shown, replicates, base is not None, known, means)


def _base_row(cases: pd.DataFrame, base: str) -> int:
    row = row_of_case(cases, base, "--base")
    if cases[TIME.column].isna()[row]:
        raise UserError(f"the base case '{base}' was not measured", where="--base")
    return row


def _ranking(asked: str | None, metrics: dict[str, MetricColumn], cases: pd.DataFrame) -> Quantity:
    """What to rank by. Raises UserError for a name that is no such column."""
    if asked is None:
        known = [column for column, metric in metrics.items() if metric.better]
        if not known or cases[THROUGHPUT.column].notna().any():
            return THROUGHPUT
        return _of_command(known[0], metrics[known[0]])
    name, _, way = asked.partition(":")
    if name in QUANTITIES and way in ("", "higher" if QUANTITIES[name].more_is_better else "lower"):
        return _comparable(QUANTITIES[name], cases)
    found = [column for column, metric in metrics.items() if name in (metric.name, column)]
    if len(found) != 1 or way not in ("", "higher", "lower"):
        known = [*QUANTITIES, *(found or [metric.name for metric in metrics.values()])]
        hint = f"it could be {', '.join(found)}" if len(found) > 1 else nearest(name, known)
        raise UserError(f"no metric is called '{asked}'", where="--metric", hint=hint)
    better = way or metrics[found[0]].better
    if better is None:
        hint = f"say it: --metric {name}:higher or --metric {name}:lower"
        raise UserError(f"whether more or less of '{name}' is better is not known", where="--metric", hint=hint)
    return _of_command(found[0], replace(metrics[found[0]], better=better))


def _comparable(quantity: Quantity, cases: pd.DataFrame) -> Quantity:
    """In the currency of these cases. Raises UserError where what they cost is not to be compared."""
    if quantity not in (PRICE, ENERGY):
        return quantity
    if reason := incomparable(cases, quantity.column):
        what = f"cases cannot be ranked by {quantity.column}: {reason}"
        raise UserError(what, where="--metric", hint="see docs/cost.md")
    return replace(quantity, unit=cases["currency"].dropna().iloc[0]) if quantity == PRICE else quantity


def _of_command(column: str, metric: MetricColumn) -> Quantity:
    return Quantity(column, metric.name, metric.unit, more_is_better=metric.better == "higher")
