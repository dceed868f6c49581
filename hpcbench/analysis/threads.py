"""Threads in three ways, context by context: none set, fixed ones, and dynamic ones that change between sections.

A context is equal work on an equal machine, as settings.py has it: one network, task, batch size and sequence length.
Of each way the fastest case stands for it. Where it was chosen among several, its time is what one gets who chooses so
(see as_chosen.py): the best of sixteen fixed settings would else beat a dynamic one by luck alone. A gain is the time
of one way over that of another, with the interval that their replicates give (see replicates.py): 1.1 is 10 % more
speed. It is certain where its interval is above 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hpcbench.analysis import cost
from hpcbench.analysis.as_chosen import as_chosen
from hpcbench.analysis.beaten import beaten
from hpcbench.analysis.conditions import THREADS
from hpcbench.analysis.matched_pairs import interval_of_ratios
from hpcbench.analysis.replicates import Key, Replicates, interval_of, shuffled
from hpcbench.analysis.settings import Context, Settings
from hpcbench.analysis.statistics import Floats, Interval, median_interval, plausible_medians
from hpcbench.analysis.summary import EFFECTIVE, Row
from hpcbench.config.metrics import interval_columns
from hpcbench.monitor.energy import J_PER_KWH
from hpcbench.node.sampling import SAMPLES

NONE, FIXED, DYNAMIC = "none", "fixed", "dynamic"
WAYS = (NONE, FIXED, DYNAMIC)
# What is compared, the slower one first if all goes well.
GAINS = ((NONE, FIXED), (FIXED, DYNAMIC), (NONE, DYNAMIC))
_SETTINGS = ("threads", "schedule", *THREADS)  # the columns that make a way and its setting, where a table has them
_ITEMS = 1e6  # that the column of energy counts


class Way(NamedTuple):
    """The fastest case of one way in a context.

    `time_s` is of a step; it `is_lucky` where one repetition both chose it among the `chosen_of` cases and told its
    time. `energy_j` is of a step of that very case, and None where no sensor told it: `no_energy` says why. `beats` is
    the part of all other configurations of the context that it beats (see beaten.py).
    """

    name: str
    case: Key
    setting: dict[str, int]
    chosen_of: int
    is_lucky: bool
    time_s: Interval
    energy_j: Interval | None
    no_energy: str | None
    beats: float


class Compared(NamedTuple):
    """A context with its ways, and the gains between those that it has. `shares` is `beats` of each of its cases."""

    context: Context
    ways: dict[str, Way]
    gains: dict[tuple[str, str], Interval]
    shares: dict[Key, float]

    @property
    def configurations(self) -> int:
        return len(self.shares)


class Overall(NamedTuple):
    """The median gain over the contexts that have both ways, and in how many it is certainly above 1, and below."""

    gain: Interval
    contexts: int
    above: int
    below: int


def ways_of(cases: pd.DataFrame) -> pd.Series[str]:
    """The way of each case: what the column `threads` says; without it, whether any count of threads is set."""
    is_set = cases[list(THREADS)].notna().any(axis=1)
    found: pd.Series[str] = is_set.map({False: NONE, True: FIXED})
    if "threads" in cases:
        found[cases["threads"].isin(WAYS)] = cases["threads"]
    return found


def compared(cases: pd.DataFrame, replicates: Replicates) -> list[Compared]:
    """The contexts that have at least two ways, in the order of the table of cases; `replicates` are of these."""
    if ways_of(cases[cases["time_median_s"].notna()]).nunique() < 2:
        return []
    settings = Settings.of(cases, [name for name in _SETTINGS if name in cases])
    ways, found = ways_of(settings.cases), []
    for span in settings.spans:
        if ways.iloc[span].nunique() > 1:
            context = settings.context_at(span.start)
            found.append(_compared(settings.cases.iloc[span], ways.iloc[span], context, replicates))
    return _in_short(found)


def overall(contexts: Sequence[Compared], slower: str, faster: str) -> Overall | None:
    """Of one of GAINS; None where no context has it."""
    gains = [each.gains[slower, faster] for each in contexts if (slower, faster) in each.gains]
    if not gains:
        return None
    median = interval_of_ratios(np.log([gain.estimate for gain in gains]))
    above, below = sum((gain.low or 0) > 1 for gain in gains), sum((gain.high or np.inf) < 1 for gain in gains)
    return Overall(median, len(gains), above, below)


def _in_short(contexts: list[Compared]) -> list[Compared]:
    """Without the options of the model, where what else is known tells the contexts apart in fewer words."""
    short = [tuple(part for part in each.context if part[0] != "model_options") for each in contexts]
    if len(set(short)) < len(contexts):
        return contexts
    return [each._replace(context=context) for each, context in zip(contexts, short, strict=True)]


def _compared(rows: pd.DataFrame, ways: pd.Series[str], context: Context, replicates: Replicates) -> Compared:
    keys = list(zip(rows["sweep"], rows["case"], strict=True))
    limits = (rows[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in ("time_ci_low_s", "time_ci_high_s"))
    shares = dict(zip(keys, beaten(*limits).tolist(), strict=True))
    timed = {name: _timed(rows[ways == name], replicates) for name in WAYS if (ways == name).any()}
    told = {name: _way(name, rows[ways == name], timed[name], shares) for name in timed}
    gains = {
        (slower, faster): _gain(timed[slower], timed[faster])
        for slower, faster in GAINS
        if slower in timed and faster in timed
    }
    return Compared(context, told, gains, shares)


class _Timed(NamedTuple):
    """What a way takes, and `plausible` values of it, which make the intervals of gains."""

    time_s: Interval
    plausible: Floats | None
    is_lucky: bool


def _timed(rows: pd.DataFrame, replicates: Replicates) -> _Timed:
    fastest = replicates.repetitions(_key(_fastest(rows)))
    honest = as_chosen([replicates.repetitions(key) for key in zip(rows["sweep"], rows["case"], strict=True)])
    used: list[Row] = honest or fastest
    samples, sizes = [row[SAMPLES] for row in used], [row[EFFECTIVE] for row in used]
    return _Timed(median_interval(samples, sizes), plausible_medians(samples, sizes), is_lucky=not honest)


def _way(name: str, rows: pd.DataFrame, timed: _Timed, shares: Mapping[Key, float]) -> Way:
    best = _fastest(rows)
    setting = {column: int(best[column]) for column in THREADS if pd.notna(best[column])}
    energy = _energy_of_step(best)
    why = None if energy else (best["energy_reason"] or "no sensor has told it")
    return Way(name, _key(best), setting, len(rows), timed.is_lucky, timed.time_s, energy, why, shares[_key(best)])


def _fastest(rows: pd.DataFrame) -> pd.Series[Any]:
    return rows.iloc[int(rows["time_median_s"].to_numpy(dtype=np.float64).argmin())]


def _key(case: pd.Series[Any]) -> Key:
    return case["sweep"], case["case"]


def _gain(slower: _Timed, faster: _Timed) -> Interval:
    estimate = slower.time_s.estimate / faster.time_s.estimate if faster.time_s.estimate > 0 else np.nan
    above, below = slower.plausible, faster.plausible
    if above is None or below is None or not below.min() > 0:
        return Interval(estimate, None, None)
    return interval_of(estimate, above / shuffled(below, 1))


def _energy_of_step(case: pd.Series[Any]) -> Interval | None:
    """Joules, of what a million items take."""
    column = cost.ENERGY
    if column not in case or pd.isna(case[column]) or pd.isna(case["items_per_step"]):
        return None
    low, high = (None if pd.isna(case[name]) else float(case[name]) for name in interval_columns(column))
    return Interval(float(case[column]), low, high).scaled(J_PER_KWH / _ITEMS * float(case["items_per_step"]))
