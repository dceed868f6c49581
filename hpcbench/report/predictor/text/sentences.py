"""Sentences on predictions: which device is fastest or needs least energy, best clocks, limits, shares and basis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import Any

import pandas as pd

from hpcbench.analysis.stats.ratio_text import times
from hpcbench.predict.choice.ratios import Candidate, Ratio
from hpcbench.predict.choice.recommendation import Compared, Recommendation
from hpcbench.predict.results.choices import BestState, WithinLimit
from hpcbench.predict.results.table import CAPACITY, ENERGY, MEMORY, OF_NAME, PRICE, SOURCE, TIME
from hpcbench.report.text.numbers import duration, memory
from hpcbench.util.text import in_short_list, plural

NO_DATA = "roofline of the data sheet; no measurements"
MAY_NOT_FIT = "may not fit: the upper limit of the predicted memory exceeds the memory of the device"
_MOST_NAMES = 6  # in a sentence
_SMALLEST = 0.01  # share of the time that is shown
_COVERED = 0.9  # of the time in kinds of operators with measurements; with less, the rest is shown
_MOST = 0.5  # of the time in such kinds; with less, their distance is not shown
_FAR = 1.0  # standard deviations from the measured operators
_BEST = {TIME: "is fastest", ENERGY: "needs least energy", PRICE: "is cheapest"}
_AS_GOOD = {TIME: "may be as fast", ENERGY: "may need as little energy", PRICE: "may be as cheap"}
NOUN = {TIME: "time", ENERGY: "energy", PRICE: "cost"}
_LESS = {TIME: "less time", ENERGY: "less energy", PRICE: "lower cost"}


def host_limits(names: Sequence[str], count: int) -> str:
    """Return that the host limits the time of a case on the fastest of `count` devices, so that these are not compared.

    `The host limits the time on the fastest devices, a, b and c: it launches kernels more slowly than ...`
    """
    fastest = "the fastest devices, " if len(names) < count else ""
    return (
        f"The host limits the time on {fastest}{in_short_list(names)}: it launches kernels more slowly than these "
        "devices run them. To compare these devices, predict a larger batch."
    )


def recommendation(found: Recommendation, quantity: str, limit: str = "") -> str:
    """Return which candidate is best and by how much, or that the result is inconclusive.

    `h100 is fastest: 41 % less time than a100 (90 % PI 35 to 52 %)`, or `Inconclusive: a100 may be as fast as h100. The
    predicted time ratio of h100 to a100 is 0.95x (90 % PI 0.83 to 1.09)`. Empty for a single candidate. With a `limit`,
    the candidates are those whose time is within it. Candidates with a price of 0 are not compared with others:
    `l40s costs nothing: the price of an hour is 0.`
    """
    if not found.others:
        return ""
    best = found.best.label
    free = [each.label for each in (found.best, *(each.candidate for each in found.others)) if each.log_value == -inf]
    if free:
        return f"{in_short_list(free)} {'costs' if len(free) == 1 else 'cost'} nothing: the price of an hour is 0."
    if found.is_certain:
        other = found.others[0]
        among = f"Of the devices within {limit}, " if limit else ""
        less = f"{_less(other, quantity)} than {other.candidate.label} {_interval(other.ratio)}"
        return f"{among}{best} {_BEST[quantity]}: {less}."
    rivals, first = in_short_list([each.candidate.label for each in found.rivals]), found.rivals[0]
    interval = f"(90 % PI {first.ratio.low:.2f} to {first.ratio.high:.2f})"
    compared = f"{NOUN[quantity]} ratio of {best} to {first.candidate.label}"
    ratio = f"The predicted {compared} is {times(first.ratio.value)} {interval}."
    among = f" among the devices within {limit}" if limit else ""
    return f"Inconclusive{among}: {rivals} {_AS_GOOD[quantity]} as {best}. {ratio}"


def _less(other: Compared, quantity: str) -> str:
    return f"{_percent(1.0 - other.ratio.value)} {_LESS[quantity]}"


def _interval(ratio: Ratio) -> str:
    low, high = (100 * (1.0 - each) for each in (ratio.high, ratio.low))
    return f"(90 % PI {_not_zero(low)} to {_not_zero(high)} %)"


def _not_zero(percent: float) -> str:
    """Return a whole number of percent, or one significant digit if it rounds to 0."""
    return f"{percent:.0f}" if abs(percent) >= 0.5 else f"{percent:.1g}"


def _percent(part: float) -> str:
    return f"{round(100 * part)} %"


def best_state(best: BestState) -> str:
    """Return the clock or power limit of least energy of a device, compared with its default, or that it is uncertain.

    `l40s needs least energy at 960 MHz: 19 % less energy (90 % PI 14 to 25 %) and 20 % more time than in its default
    state.`
    """
    if not best.state:
        return f"No lower {best.setting} of {best.device} is predicted to save energy."
    more = f"{_percent(best.time - 1.0)} more time"
    if best.is_certain:
        less = f"{_percent(1.0 - best.energy.value)} less energy {_interval(best.energy)}"
        return f"{best.device} needs least energy at {best.state}: {less} and {more} than in its default state."
    interval = f"(90 % PI {best.energy.low:.2f} to {best.energy.high:.2f}) with {more}"
    ratio = f"The predicted energy ratio of {best.state} to the default state is {times(best.energy.value)} {interval}."
    return f"Inconclusive: {best.device} may need as little energy in its default state as at {best.state}. {ratio}"


def within_limit(found: WithinLimit) -> Iterator[str]:
    """Yield the best candidate within a limit of the time, then which candidates are within it, may be or are not.

    A candidate is within the limit if its whole interval is. A single device is not recommended.
    """
    limit = duration(found.limit_s)
    parts = (
        (f"Within {limit}", found.limited.within),
        (f"May be within {limit}", found.limited.uncertain),
        (f"Not within {limit}", found.limited.above),
    )
    if len({each.device for _, members in parts for each in members}) > 1:
        yield _of_those_within(found, limit)
    if found.state:
        yield best_state(found.state)
    yield from (f"{words}: {_names(members)}." for words, members in parts if members)


def _of_those_within(found: WithinLimit, limit: str) -> str:
    """Return which device is recommended within a limit of the time: the only one, or the one with least energy."""
    if not found.limited.within:
        return f"No device is recommended: none has its whole 90 % PI within {limit}."
    if found.best is None:
        return f"No device is recommended: the energy of the devices within {limit} is not predicted."
    if found.best.others:
        return recommendation(found.best, ENERGY, limit)
    if found.is_only_known:
        only = f"only the energy of {found.best.best.device} is predicted"
        return f"No device is recommended: of the devices within {limit}, {only}."
    return f"{found.best.best.label} is recommended: only this device has its whole 90 % PI within {limit}."


def _names(members: Sequence[Candidate]) -> str:
    """Return devices with their states: `l40s, h100-sxm (default, 960 to 1320 MHz)`."""
    states: dict[str, list[Candidate]] = {}
    for each in members:
        states.setdefault(each.device, []).append(each)
    return _few(
        [own[0].label if len(own) == 1 else f"{device} ({', '.join(_spans(own))})" for device, own in states.items()]
    )


def _spans(states: Sequence[Candidate]) -> Iterator[str]:
    """Yield the states of a device: the default, and the lowest and the highest one by unit."""
    if any(not each.state for each in states):
        yield "default"
    values: dict[str, list[float]] = {}
    for each in states:
        if each.state:
            value, unit = each.state.split(" ")
            values.setdefault(unit, []).append(float(value))
    for unit, found in values.items():
        low, high = min(found), max(found)
        yield f"{low:g} {unit}" if low == high else f"{low:g} to {high:g} {unit}"


def basis(row: pd.Series[Any]) -> str:
    """Return what a row of results is based on.

    `measured device: 60 of 312 measurements of 5 devices`, or `device not measured: 312 measurements of 5 devices; far
    from the training data (2.1 standard deviations)`. A device may have measurements of operators, but not of image
    networks, from whose names its time is predicted.
    """
    count, own = row["basis_rows"], row["device_rows"]
    if not count > 0:
        return NO_DATA
    of_images = " of image networks" if row.get(SOURCE) == OF_NAME else ""
    of_all = f"{plural(int(count), 'measurement')}{of_images} of {plural(int(row['basis_devices']), 'device')}"
    without = "no image network measured on it" if of_images and row["device_measured"] else "device not measured"
    found = [f"measured device: {own:,.0f} of {of_all}" if own > 0 else f"{without}: {of_all}"]
    if row["measured_fraction"] >= _SMALLEST:
        found.append(f"{_percent(row['measured_fraction'])} of the time in operators that were measured on it")
    if row["covered_fraction"] < _COVERED:
        found.append(
            f"{_percent(1.0 - row['covered_fraction'])} of the time in kinds of operators without measurements"
        )
    if row["distance"] >= _FAR and row["covered_fraction"] >= _MOST:
        found.append(f"far from the training data ({row['distance']:.1f} standard deviations)")
    return "; ".join(found)


def power_basis(row: pd.Series[Any]) -> str:
    """Return what the power of a row of results is based on; empty if the row is based on no measurements."""
    count = row["power_devices"]
    if not count > 0:
        return "power from the data sheet" if row["basis_rows"] > 0 else ""
    return "power measured on it" if row["power_measured"] else f"power from {plural(int(count), 'other device')}"


def does_not_fit(row: pd.Series[Any]) -> str:
    """Return that a case needs more memory than its device has, with both sizes."""
    need, has = memory(row[MEMORY]), memory(row[CAPACITY])
    return f"does not fit: needs about {need} of memory, but the device has {has}"


def grouped(texts: Iterable[tuple[str, str]]) -> list[str]:
    """Return lines `a, b: text` from pairs of a name and a text: names with the same text share a line.

    A line has the first of many names.
    """
    names: dict[str, list[str]] = {}
    for name, text in texts:
        names.setdefault(text, []).append(name)
    return [f"{_few(list(dict.fromkeys(each)))}: {text}" for text, each in names.items()]


def _few(names: Sequence[str]) -> str:
    """Return names with commas, or the first of many."""
    return ", ".join(names) if len(names) <= _MOST_NAMES else in_short_list(names)
