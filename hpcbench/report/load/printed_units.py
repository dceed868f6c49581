"""Metrics whose runs print different units that their patterns do not capture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hpcbench.core.metrics.units import differ
from hpcbench.core.record import Record

_HINT = (
    "to convert them, name the groups of `regex` (?P<value>...) and (?P<unit>...) and set `unit` in an experiment "
    "file; then run: hpcbench reparse SWEEP FILE"
)


def mixed_units(records: Iterable[Record]) -> Iterator[str]:
    """Yield a warning for each metric whose numbers are in different units of one quantity, such as MB/s and GB/s."""
    units: dict[str, dict[str, None]] = {}
    for record in records:
        for name, metric in (record.metrics or {}).items():
            if metric.printed_unit:
                units.setdefault(name, {}).update(dict.fromkeys(metric.printed_unit.split(", ")))
    for name, printed in units.items():
        if differ(list(printed)):
            what = f"metric '{name}' has different units ({', '.join(printed)}), and its values are not converted"
            yield f"{what}; {_HINT}"
