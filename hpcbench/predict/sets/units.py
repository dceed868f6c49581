"""Units at the end of the names of columns, such as `us` of `latency_us`."""

from __future__ import annotations

from hpcbench.predict.sets.formats import FORMATS

_WORDS = {
    **dict.fromkeys(("ns", "nsec", "nanoseconds"), "nanoseconds"),
    **dict.fromkeys(("us", "usec", "µs", "μs", "microseconds"), "microseconds"),
    **dict.fromkeys(("ms", "msec", "milliseconds"), "milliseconds"),
    **dict.fromkeys(("s", "sec", "seconds"), "seconds"),
    **dict.fromkeys(("min", "minutes"), "minutes"),
    **dict.fromkeys(("h", "hours"), "hours"),
    **dict.fromkeys(("mw", "milliwatts"), "milliwatts"),
    **dict.fromkeys(("w", "watt", "watts"), "watts"),
    **dict.fromkeys(("kw", "kilowatts"), "kilowatts"),
    **dict.fromkeys(("uj", "µj", "μj", "microjoules"), "microjoules"),
    **dict.fromkeys(("mj", "millijoules"), "millijoules"),
    **dict.fromkeys(("j", "joule", "joules"), "joules"),
    **dict.fromkeys(("kj", "kilojoules"), "kilojoules"),
    **dict.fromkeys(("wh", "watt_hours"), "watt-hours"),
    **dict.fromkeys(("kwh", "kilowatt_hours"), "kilowatt-hours"),
}
_COLUMNS = {target.column for each in FORMATS for target in each.targets}


def in_another_unit(column: str, wanted: str) -> str:
    """Return that a column has the measured values of the column `wanted` in another unit; otherwise an empty text.

    `is in microseconds; write 'latency_ms' in milliseconds`.
    """
    stem, _, unit = wanted.rpartition("_")
    if wanted not in _COLUMNS or not column.lower().startswith(f"{stem}_"):
        return ""
    own, words = _WORDS.get(column.lower().removeprefix(f"{stem}_")), _WORDS[unit]
    return f"is in {own}; write '{wanted}' in {words}" if own and own != words else ""
