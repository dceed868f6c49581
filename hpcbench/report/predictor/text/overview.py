"""The table of devices over all cases."""

from __future__ import annotations

import math
from collections.abc import Collection

import pandas as pd

from hpcbench.analysis.stats.ratio_text import times
from hpcbench.predict.results.overview import overview
from hpcbench.predict.results.table import ENERGY, TIME
from hpcbench.report.text.text_columns import Column
from hpcbench.util.text import plural

_ABOUT = (
    "Ratios are geometric means of the predicted values relative to the lowest one of each case. A case counts for a "
    "device if all others are at least 1 % above it."
)
_LEFT_OUT = "Cases without a prediction on each of these devices, or too large for one, are left out."
_MOST_OTHERS = 3  # devices after the first in a sentence


def overview_title(count: int) -> str:
    """Return the title of the table of `count` cases."""
    return f"All devices over {plural(count, 'case')}"


def about_overview(results: pd.DataFrame, count: int) -> str:
    """Return how the table of `count` cases is computed, and which cases it leaves out, if any."""
    return _ABOUT if count == results["case"].nunique() else f"{_ABOUT} {_LEFT_OUT}"


def overview_columns(results: pd.DataFrame, quantities: Collection[str]) -> tuple[list[Column], int]:
    """Return the columns of the table of devices for TIME, ENERGY or both, and its number of cases.

    There are no columns for one case or one device.
    """
    devices, count = overview(results)
    if len(devices) < 2 or count < 2:
        return [], count
    cells: dict[str, tuple[str, ...]] = {}
    if TIME in quantities:
        cells["fastest in"] = tuple(plural(each.fastest, "case") for each in devices)
        cells["time / fastest"] = tuple(_ratio(each.time_ratio) for each in devices)
    if ENERGY in quantities:
        cells["least energy in"] = tuple(plural(each.least_energy, "case") for each in devices)
        cells["energy / least"] = tuple(_ratio(each.energy_ratio) for each in devices)
    if any(each.does_not_fit for each in devices):
        cells["does not fit"] = tuple(plural(each.does_not_fit, "case") for each in devices)
    names = Column("device", tuple(each.device for each in devices), is_text=True, identifies=True)
    return [names, *(Column(header, values) for header, values in cells.items())], count


def overview_sentences(results: pd.DataFrame, quantities: Collection[str]) -> list[str]:
    """Return how many cases each device is best in; nothing for one case or one device.

    `Lowest predicted time: h100-sxm in 15 of 20 cases, l40s in 5.`
    """
    devices, count = overview(results)
    if len(devices) < 2 or count < 2:
        return []
    wins = {TIME: ("time", "fastest"), ENERGY: ("energy", "least_energy")}
    found = []
    for quantity in (each for each in (TIME, ENERGY) if each in quantities):
        noun, field = wins[quantity]
        best = sorted(((getattr(each, field), each.device) for each in devices), reverse=True)
        (first, name), *others = [pair for pair in best if pair[0]] or [(0, "")]
        rest = "".join(f", {device} in {number}" for number, device in others[:_MOST_OTHERS])
        rest += f", others in {sum(number for number, _ in others[_MOST_OTHERS:])}" if others[_MOST_OTHERS:] else ""
        found += [f"Lowest predicted {noun}: {name} in {first} of {plural(count, 'case')}{rest}."] if first else []
    return found


def _ratio(value: float) -> str:
    return "-" if math.isnan(value) else times(value)
