"""Metrics of commands as quantities, and the quantity that `--metric NAME[:higher|:lower]` names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from hpcbench.analysis.cases.quantities import THROUGHPUT, TIME, Quantity, short_column
from hpcbench.collect.table import MetricColumn
from hpcbench.errors import UserError, nearest

HIGHER, LOWER = "higher", "lower"
# The same default for each command that ranks or follows cases, in the words of --help.
DEFAULT_METRIC = (
    f"[default: {short_column(THROUGHPUT.column)}; for commands, their first metric with a known better direction, "
    f"otherwise {short_column(TIME.column)}]"
)


def quantities_of(metrics: Mapping[str, MetricColumn]) -> dict[str, Quantity]:
    """Return the metrics of commands as quantities, by column."""
    return {column: Quantity(column, each.name, each.unit, _more(each.better)) for column, each in metrics.items()}


def named(
    asked: str, known: Mapping[str, Quantity], metrics: Mapping[str, Quantity], *, has_direction: bool = True
) -> Quantity:
    """Return the quantity given by `asked`, a column or short name with an optional direction.

    A metric of commands precedes a known quantity of the same name. Raise UserError if the name is unknown or
    ambiguous, or with `has_direction` if the better direction is unknown.
    """
    name, _, way = asked.partition(":")
    found = [metric for metric in metrics.values() if name in (metric.title, metric.column)]
    if not found:
        column = next((column for column in known if name in (column, short_column(column))), None)
        if column is not None and way in ("", HIGHER if known[column].more_is_better else LOWER):
            return known[column]
    if len(found) != 1 or way not in ("", HIGHER, LOWER):
        columns = [metric.column for metric in found]
        names = [*known, *map(short_column, known), *(metric.title for metric in metrics.values())]
        raise unknown_metric(asked, names, f"did you mean one of {', '.join(columns)}?" if len(found) > 1 else "")
    quantity = replace(found[0], more_is_better=_more(way)) if way else found[0]
    if quantity.more_is_better is None and has_direction:
        hint = f"add it: --metric {name}:{HIGHER} or --metric {name}:{LOWER}"
        raise UserError(f"the better direction of '{name}' is unknown", where="--metric", hint=hint)
    return quantity


def default_quantity(metrics: Iterable[Quantity], *, has_throughput: bool) -> Quantity:
    """Return the throughput if a case has one, otherwise the first metric with a known better direction, or the time.

    A report ranks the cases of one workload by it.
    """
    if has_throughput:
        return THROUGHPUT
    return next((metric for metric in metrics if metric.more_is_better is not None), TIME)


def unknown_metric(asked: str, names: Iterable[str], hint: str = "") -> UserError:
    """Return the error for a metric whose name is not one of `names`, with the closest of them as a hint."""
    hint = hint or nearest(asked.partition(":")[0], names)
    return UserError(f"unknown metric '{asked}'", where="--metric", hint=hint)


def _more(way: str | None) -> bool | None:
    return None if way is None else way == HIGHER
