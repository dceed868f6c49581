"""Print what `hpcbench reparse` found: for each metric the runs and the range, and why it was not found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hpcbench.core.record import Record
from hpcbench.core.status import COMPLETED
from hpcbench.util.causes import cause
from hpcbench.util.text import plural

_MOST_REASONS = 3  # per metric


def summary(records: Sequence[Record], names: Iterable[str]) -> list[str]:
    """Return the lines about the records that count, and the metrics with these names."""
    found = []
    completed = [record for record in records if record.status == COMPLETED]
    failed = [record.message for record in records if record.status != COMPLETED]
    if failed:
        found += [f"expect: not found in {len(failed)} of {plural(len(records), 'run')}", *_reasons(failed)]
    for name in names:
        metrics = [(record.metrics or {})[name] for record in completed]
        values = [metric.value for metric in metrics if metric.value is not None]
        unit = next((f" {metric.unit}" for metric in metrics if metric.unit), "")
        span = f", {_range(values)}{unit}" if values else ""
        found.append(f"{name}: found in {len(values)} of {plural(len(records), 'run')}{span}")
        found += _reasons([metric.reason or "" for metric in metrics if metric.value is None])
    return found


def _range(values: Sequence[float]) -> str:
    low, high = (f"{value:.6g}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _reasons(messages: Sequence[str]) -> list[str]:
    """Return the most frequent reasons, each with the number of runs."""
    groups: dict[str, list[str]] = {}
    for message in messages:
        groups.setdefault(cause(message), []).append(message)
    often = sorted(groups.values(), key=len, reverse=True)
    lines = [f"  {plural(len(group), 'run')}: {group[0]}" for group in often[:_MOST_REASONS]]
    rest = sum(map(len, often[_MOST_REASONS:]))
    return [*lines, f"  {plural(rest, 'run')}: other reasons"] if rest else lines
