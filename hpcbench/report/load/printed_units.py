"""Metrics whose runs print different units, which their patterns do not match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hpcbench.core.metrics.units import differ
from hpcbench.core.record import Record

_HINT = r"add a group to the pattern, such as (?P<unit>\w+/s), and `unit` in an experiment file; then hpcbench reparse"


def mixed_units(records: Iterable[Record]) -> Iterator[str]:
    """Yield a warning for each metric whose numbers are in different units of one quantity, such as MB/s and GB/s."""
    units: dict[str, dict[str, None]] = {}
    for record in records:
        for name, metric in (record.metrics or {}).items():
            if metric.printed_unit:
                units.setdefault(name, {})[metric.printed_unit] = None
    for name, printed in units.items():
        if differ(list(printed)):
            yield f"the runs print '{name}' in different units ({', '.join(printed)}), which are not converted: {_HINT}"
