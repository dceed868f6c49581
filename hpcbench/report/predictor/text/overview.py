"""The table of devices over all cases."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from hpcbench.analysis.stats.ratio_text import times
from hpcbench.predict.results.overview import QUANTITIES, DeviceOverview, overview
from hpcbench.predict.results.table import TIME
from hpcbench.report.predictor.text.sentences import NOUN
from hpcbench.report.text.text_columns import Column
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from hpcbench.predict.results.predictions import Predictions

_ABOUT = (
    "Ratios are geometric means of the predicted values relative to the lowest one of each case. A case counts for a "
    "device if all others are at least 1 % above it. It is conclusive if the 90 % intervals of the ratios to all "
    "others are below 1."
)
_LEFT_OUT = "Cases without a prediction on each of these devices, or too large for one, are left out."
_MOST_OTHERS = 3  # devices after the first in a sentence


def overview_title(count: int) -> str:
    """Return the title of the table of `count` cases."""
    return f"All devices over {plural(count, 'case')}"


def about_overview(results: pd.DataFrame, count: int) -> str:
    """Return how the table of `count` cases is computed, and which cases it leaves out, if any."""
    return _ABOUT if count == results["case"].nunique() else f"{_ABOUT} {_LEFT_OUT}"


def overview_columns(predictions: Predictions, quantities: Collection[str]) -> tuple[list[Column], int]:
    """Return the columns of the table of devices for those of `quantities` that are predicted, and its number of cases.

    There are no columns for one case or one device.
    """
    devices, count = overview(predictions)
    if len(devices) < 2 or count < 2:
        return [], count
    names = Column("device", tuple(each.device for each in devices), is_text=True, identifies=True)
    found = [column for name in _known(devices, quantities) for column in _columns_of(name, devices)]
    if any(each.does_not_fit for each in devices):
        cells = tuple(plural(each.does_not_fit, "case") for each in devices)
        found.append(Column("does not fit", cells, may_move=True))
    return [names, *found], count


def _known(devices: Sequence[DeviceOverview], quantities: Collection[str]) -> Iterator[str]:
    """Yield those of the quantities that at least one device has."""
    for name in QUANTITIES:
        if name in quantities and any(not math.isnan(each.standings[name].ratio) for each in devices):
            yield name


def _columns_of(quantity: str, devices: Sequence[DeviceOverview]) -> Iterator[Column]:
    noun, own = NOUN[quantity], [each.standings[quantity] for each in devices]
    yield Column(f"lowest {noun} in", tuple(plural(each.lowest, "case") for each in own), may_move=quantity != TIME)
    yield Column("conclusive", tuple(plural(each.conclusive, "case") for each in own), may_move=quantity != TIME)
    yield Column(f"{noun} ratio", tuple(_ratio(each.ratio) for each in own), may_move=quantity != TIME)


def overview_sentences(predictions: Predictions, quantities: Collection[str]) -> list[str]:
    """Return how many cases each device is best in, and how many are conclusive; nothing for one case or one device.

    `Lowest predicted time: h100-sxm in 15 of 20 cases, l40s in 5; conclusive in 4.`
    """
    devices, count = overview(predictions)
    if len(devices) < 2 or count < 2:
        return []
    sentences = (_sentence(name, devices, count) for name in _known(devices, quantities))
    return [each for each in sentences if each]


def _sentence(quantity: str, devices: Sequence[DeviceOverview], count: int) -> str:
    """Return the sentence on a quantity; empty if no device has the lowest value alone in any case."""
    by_count = sorted(((each.standings[quantity].lowest, each.device) for each in devices), reverse=True)
    best = [pair for pair in by_count if pair[0]]
    if not best:
        return ""
    (first, name), *others = best
    rest = "".join(f", {device} in {number}" for number, device in others[:_MOST_OTHERS])
    rest += f", others in {sum(number for number, _ in others[_MOST_OTHERS:])}" if others[_MOST_OTHERS:] else ""
    sentence = f"Lowest predicted {NOUN[quantity]}: {name} in {first} of {plural(count, 'case')}{rest}"
    conclusive = sum(each.standings[quantity].conclusive for each in devices)
    if not conclusive:
        return f"Inconclusive in all cases. {sentence}."
    return f"{sentence}; conclusive in {'all' if conclusive == count else conclusive}."


def _ratio(value: float) -> str:
    return "-" if math.isnan(value) else times(value)
