"""Headings of columns, and units by the suffixes of their names."""

from __future__ import annotations

from hpcbench.analysis.cases.labels import plain
from hpcbench.analysis.cases.published import PREFIX as PUBLISHED
from hpcbench.config.metrics import PREFIX
from hpcbench.config.names import USER_PARAMETER

MEMORY_COLUMNS = ("peak_memory_bytes", "peak_device_bytes", "saved_activation_bytes")
_ENDINGS = {
    "_items_per_s": "samples/s",
    "_flops_per_s": "FLOP/s",
    "_bytes_per_s": "B/s",
    "_j_per_item": "J/item",
    "_j_s_per_item2": "J s/item\u00b2",
    "_kwh_per_million_items": "kWh/million items",
    "_kwh_per_run": "kWh/run",
    "_j": "J",
    "_power_w": "W",
    "_clock_mhz": "MHz",
    "_s": "s",
    "_bytes": "B",
}

_KEPT = ("_power_w", "_clock_mhz")  # endings whose first word belongs to the title


def apart(column: str) -> tuple[str, str]:
    """Return title and unit of a column: `peak memory`, `B` for peak_memory_bytes. Tags and metrics have no unit.

    The titles of powers and clocks contain these words: `gpu clock`, `MHz` for gpu_clock_mhz.
    """
    if column.startswith(PUBLISHED):
        return f"published {column.removeprefix(PUBLISHED)}".replace("_", " "), "ms"
    ending = next((each for each in _ENDINGS if column.endswith(each)), "")
    if not ending or column.startswith((USER_PARAMETER, PREFIX)):
        return plain(column).replace("_", " "), ""
    title = column.removesuffix(f"_{ending.rpartition('_')[2]}" if ending in _KEPT else ending)
    return title.replace("_", " "), _ENDINGS[ending]


def header_of(column: str) -> str:
    """Return the heading of a column."""
    header = plain(column).replace("_", " ")
    return header.removesuffix(" bytes") if column in MEMORY_COLUMNS else header
