"""The table of devices over all cases."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hpcbench.analysis.stats.ratio_text import times
from hpcbench.predict.results.overview import (
    QUANTITIES,
    DeviceOverview,
    LimitOverview,
    overview,
    overview_within,
)
from hpcbench.predict.results.table import TIME
from hpcbench.report.predictor.text.sentences import NOUN
from hpcbench.report.predictor.text.summary import Wanted
from hpcbench.report.text.numbers import duration
from hpcbench.report.text.text_columns import Column
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from hpcbench.predict.results.predictions import Predictions

_ABOUT = (
    "Ratios are geometric means of the predicted values relative to the lowest one of each case. A case counts for a "
    "device if all others are at least 1 % above it. It is conclusive if the 90 % intervals of the ratios to all "
    "others are below 1."
)
_ABOUT_LIMIT = (
    "A device is within {limit} if its whole 90 % PI is. A case counts as least energy for a device if it is within "
    "{limit}, and if all others within {limit} need at least 1 % more. It is conclusive if the 90 % intervals of the "
    "ratios to all others within {limit} are below 1, or if there are no others."
)
_LEFT_OUT = "Cases without a prediction on each of these devices, or too large for one, are left out."
_MOST_OTHERS = 3  # devices after the first in a sentence


@dataclass(frozen=True)
class OverviewTable:
    """The table of devices over all cases, with its title, and how it is computed."""

    title: str
    columns: tuple[Column, ...]
    about: str


def overview_table(predictions: Predictions, wanted: Wanted) -> OverviewTable | None:
    """Return the table of devices by what is wanted; None for one case or one device."""
    if wanted.within_s is not None:
        limited, count = overview_within(predictions, wanted.within_s)
        limit = duration(wanted.within_s)
        return _table(predictions, count, limited, _limit_columns(limited, limit), _ABOUT_LIMIT.format(limit=limit))
    devices, count = overview(predictions)
    columns = (column for name in _known(devices, wanted.quantities) for column in _columns_of(name, devices))
    return _table(predictions, count, devices, columns, _ABOUT)


def _table(
    predictions: Predictions,
    count: int,
    devices: Sequence[DeviceOverview | LimitOverview],
    columns: Iterable[Column],
    about: str,
) -> OverviewTable | None:
    """Return the table with these columns, and with the cases that exceed the memory of the devices."""
    if not _is_shown(devices, count):
        return None
    names = Column("device", tuple(each.device for each in devices), is_text=True, identifies=True)
    found = [names, *columns]
    if any(each.does_not_fit for each in devices):
        found.append(_cases("does not fit", [each.does_not_fit for each in devices], may_move=True))
    is_complete = count == predictions.results["case"].nunique()
    return OverviewTable(
        f"All devices over {plural(count, 'case')}",
        tuple(found),
        about if is_complete else f"{about} {_LEFT_OUT}",
    )


def _is_shown(devices: Sequence[DeviceOverview | LimitOverview], count: int) -> bool:
    return len(devices) > 1 and count > 1


def _known(devices: Sequence[DeviceOverview], quantities: Collection[str]) -> Iterator[str]:
    """Yield those of the quantities that at least one device has."""
    for name in QUANTITIES:
        if name in quantities and any(not math.isnan(each.standings[name].ratio) for each in devices):
            yield name


def _columns_of(quantity: str, devices: Sequence[DeviceOverview]) -> Iterator[Column]:
    noun, own, may_move = NOUN[quantity], [each.standings[quantity] for each in devices], quantity != TIME
    yield _cases(f"lowest {noun} in", [each.lowest for each in own], may_move=may_move)
    yield _cases("conclusive", [each.conclusive for each in own], may_move=may_move)
    yield Column(f"{noun} ratio", tuple(_ratio(each.ratio) for each in own), may_move=may_move)


def _limit_columns(devices: Sequence[LimitOverview], limit: str) -> Iterator[Column]:
    yield _cases(f"within {limit}", [each.within for each in devices])
    yield _cases("of these, least energy", [each.lowest for each in devices])
    yield _cases("conclusive", [each.conclusive for each in devices])


def _cases(header: str, counts: Iterable[int], *, may_move: bool = False) -> Column:
    return Column(header, tuple(plural(count, "case") for count in counts), may_move=may_move)


def overview_sentences(predictions: Predictions, wanted: Wanted) -> list[str]:
    """Return how many cases each device is best in, and how many are conclusive; nothing for one case or one device.

    `Lowest predicted time: h100-sxm in 15 of 20 cases, l40s in 5; conclusive in 4.`
    """
    if wanted.within_s is not None:
        limited, count = overview_within(predictions, wanted.within_s)
        return list(_of_limit(limited, count, duration(wanted.within_s))) if _is_shown(limited, count) else []
    devices, count = overview(predictions)
    if not _is_shown(devices, count):
        return []
    sentences = []
    for quantity in _known(devices, wanted.quantities):
        lowest = {each.device: each.standings[quantity].lowest for each in devices}
        conclusive = sum(each.standings[quantity].conclusive for each in devices)
        sentences.append(_sentence(f"Lowest predicted {NOUN[quantity]}", lowest, conclusive, count))
    return [each for each in sentences if each]


def _of_limit(devices: Sequence[LimitOverview], count: int, limit: str) -> Iterator[str]:
    """Yield in how many cases each device needs least energy within a limit of the time, and is within it."""
    conclusive = sum(each.conclusive for each in devices)
    best = _sentence(f"Least energy within {limit}", {each.device: each.lowest for each in devices}, conclusive, count)
    if best:
        yield best
    keeping = [each for each in devices if each.within]
    if not keeping:
        yield f"No device has its whole 90 % PI within {limit} in any of {plural(count, 'case')}."
        return
    first, *others = sorted(keeping, key=lambda each: -each.within)
    shown, more = others[:_MOST_OTHERS], others[_MOST_OTHERS:]
    rest = "".join(f", {each.device} in {each.within}" for each in shown)
    rest += f", and {plural(len(more), 'other device')} in at most {more[0].within}" if more else ""
    yield f"Within {limit}: {first.device} in {first.within} of {plural(count, 'case')}{rest}."


def _sentence(label: str, lowest: dict[str, int], conclusive: int, count: int) -> str:
    """Return the sentence on the devices with the lowest value; empty if none has it alone in any case."""
    by_count = sorted(((number, device) for device, number in lowest.items()), reverse=True)
    best = [pair for pair in by_count if pair[0]]
    if not best:
        return ""
    (first, name), *others = best
    rest = "".join(f", {device} in {number}" for number, device in others[:_MOST_OTHERS])
    rest += f", others in {sum(number for number, _ in others[_MOST_OTHERS:])}" if others[_MOST_OTHERS:] else ""
    sentence = f"{label}: {name} in {first} of {plural(count, 'case')}{rest}"
    if not conclusive:
        return f"Inconclusive in all cases. {sentence}."
    return f"{sentence}; conclusive in {'all' if conclusive == count else conclusive}."


def _ratio(value: float) -> str:
    return "-" if math.isnan(value) else times(value)
