"""Metrics of commands as quantities, and the quantity that `--metric NAME[:higher|:lower]` names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from hpcbench.analysis.cases.quantities import Quantity, short_column
from hpcbench.collect.table import MetricColumn
from hpcbench.errors import UserError, nearest

HIGHER, LOWER = "higher", "lower"


def quantities_of(metrics: Mapping[str, MetricColumn]) -> dict[str, Quantity]:
    """Return the metrics of commands as quantities, by column."""
    return {column: Quantity(column, each.name, each.unit, _more(each.better)) for column, each in metrics.items()}


def named(
    asked: str, known: Mapping[str, Quantity], metrics: Mapping[str, Quantity], needed_by: str | None = "--metric"
) -> Quantity:
    """Return the quantity given by `asked`, a column or short name with an optional direction.

    `needed_by` is the option that requires a better direction, if any. Raise UserError if the name is unknown or
    ambiguous, or if a required direction is unknown.
    """
    name, _, way = asked.partition(":")
    if all(metric.title != name for metric in metrics.values()):
        name = next((column for column in known if short_column(column) == name), name)
    if name in known and way in ("", HIGHER if known[name].more_is_better else LOWER):
        return known[name]
    found = [metric for metric in metrics.values() if name in (metric.title, metric.column)]
    if len(found) != 1 or way not in ("", HIGHER, LOWER):
        columns = [metric.column for metric in found]
        names = [*known, *map(short_column, known), *(metric.title for metric in metrics.values())]
        raise unknown_metric(asked, names, f"it could be {', '.join(columns)}" if len(found) > 1 else "")
    quantity = replace(found[0], more_is_better=_more(way)) if way else found[0]
    if quantity.more_is_better is None and needed_by:
        hint = f"say it: --metric {name}:{HIGHER} or --metric {name}:{LOWER}"
        raise UserError(f"the better direction of '{name}' is unknown", where=needed_by, hint=hint)
    return quantity


def unknown_metric(asked: str, names: Iterable[str], hint: str = "") -> UserError:
    """Return the error for a metric whose name is not one of `names`, with the closest of them as a hint."""
    hint = hint or nearest(asked.partition(":")[0], names)
    return UserError(f"unknown metric '{asked}'", where="--metric", hint=hint)


def _more(way: str | None) -> bool | None:
    return None if way is None else way == HIGHER
