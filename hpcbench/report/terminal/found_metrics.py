"""Print metrics that hpcbench found in the output of commands, and that no experiment defines."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from hpcbench.collect.found_metrics import FoundMetric
from hpcbench.util.text import plural

MOST_SHOWN = 10


def print_found(found: Sequence[FoundMetric], console: Console) -> None:
    """Print the metrics with their last values and how to rank by them; nothing if there are none."""
    if not found:
        return
    console.print("found in the output; use --metric NAME to rank by it:", markup=False)
    for line in lines(found[:MOST_SHOWN]):
        console.print(f"  {line}", markup=False, soft_wrap=True)
    if len(found) > MOST_SHOWN:
        rest = ", ".join(metric.name for metric in found[MOST_SHOWN:])
        console.print(f"  and {len(found) - MOST_SHOWN} more: {rest}", markup=False, soft_wrap=True)


def lines(found: Sequence[FoundMetric]) -> list[str]:
    """Return a line for each metric: its name, its last value with unit, and the number of values."""
    rows = [(metric.name, f"{metric.last:.6g} {metric.unit}".strip(), _counted(metric.count)) for metric in found]
    widths = [max(len(row[place]) for row in rows) for place in (0, 1)]
    return [f"{name:<{widths[0]}}  {value:<{widths[1]}}  {counted}" for name, value, counted in rows]


def _counted(count: int) -> str:
    return "(1 value)" if count == 1 else f"({plural(count, 'value')}, the last)"
