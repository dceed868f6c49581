"""Threads in three ways, context by context: none set, fixed ones, and dynamic ones that change between sections.

A context is equal work on an equal machine, as settings.py has it: one network, task, batch size and sequence length.
Of each way the fastest case stands for it. Where it was chosen among several, its time is what one gets who chooses so
(see as_chosen.py): the best of sixteen fixed settings would else beat a dynamic one by luck alone. A gain is the time
of one way over that of another, with the interval that their replicates give (see replicates.py): 1.1 is 10 % more
speed. It is certain where its interval is above 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from hpcbench.analysis.cases import cost
from hpcbench.analysis.cases.bootstrap_replicates import Key, Replicates, interval_of, shuffled
from hpcbench.analysis.cases.case_table import EFFECTIVE, Row
from hpcbench.analysis.stats.intervals import LEVEL, Floats, Interval, median_interval, plausible_medians
from hpcbench.analysis.stats.paired_effects import interval_of_ratios
from hpcbench.analysis.stats.superiority import beaten
from hpcbench.analysis.studies.cross_validated_choice import as_chosen
from hpcbench.analysis.studies.tuning_contexts import Context, Settings
from hpcbench.config.metrics import interval_columns
from hpcbench.core.energy import J_PER_KWH
from hpcbench.core.frameworks import DYNAMIC, FIXED, NONE, SCHEDULE, THREAD_COUNTS
from hpcbench.core.samples import SAMPLES

WAYS = (NONE, FIXED, DYNAMIC)
# What is compared, the slower one first if all goes well.
GAINS = ((NONE, FIXED), (FIXED, DYNAMIC), (NONE, DYNAMIC))
_SETTINGS = (
    "threads",
    "schedule",
    "section_depth",
    *THREAD_COUNTS,
)  # the columns that make a way and its setting, where a table has them
_LIMITS = ("time_ci_low_s", "time_ci_high_s")
_ENERGY = (cost.ENERGY, *interval_columns(cost.ENERGY))
_IN_FORCE = "effective_intra_op_threads"
_ASKED = ("sweep", "case", *THREAD_COUNTS, _IN_FORCE, "time_median_s", "items_per_step", "energy_reason", *_ENERGY)


class Way(NamedTuple):
    """The fastest case of one way in a context.

    `time_s` is of a step; it `is_lucky` where one repetition both chose it among the `chosen_of` cases and told its
    time. `energy_j` is of a step of that very case, and None where no sensor told it: `no_energy` says why. `beats` is
    the part of all other configurations of the context that it beats (see beaten.py). `in_force` is the number of
    threads that was read back, and None where none was.
    """

    name: str
    case: Key
    setting: dict[str, int]
    in_force: int | None
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


class Overall(NamedTuple):
    """The median gain over the contexts that have both ways, and in how many it is certainly above 1, and below.

    `by_chance` is how many would seem certainly above 1 if nothing was gained in any of them, and as many below: an
    interval of 95 % misses the truth at each side once in forty times.
    """

    gain: Interval
    contexts: int
    above: int
    below: int
    by_chance: float


def ways_of(cases: pd.DataFrame) -> pd.Series[str]:
    """The way of each case: what the column `threads` says; without it, whether any count of threads is set."""
    is_set = cases[list(THREAD_COUNTS)].notna().any(axis=1)
    found: pd.Series[str] = is_set.map({False: NONE, True: FIXED})
    if "threads" in cases:
        found[cases["threads"].isin(WAYS)] = cases["threads"]
    return found


def compared(cases: pd.DataFrame, replicates: Replicates) -> list[Compared]:
    """The contexts that have at least two ways, in the order of the table of cases; `replicates` are of these."""
    if ways_of(cases[cases["time_median_s"].notna()]).nunique() < 2:
        return []
    settings = Settings.of(cases, [name for name in _SETTINGS if name in cases])
    rows, ways = _rows(settings.cases), ways_of(settings.cases).tolist()
    limits, found = settings.cases[list(_LIMITS)].astype(float).to_numpy(), []
    for span in settings.spans:
        if len(set(ways[span])) > 1:
            shares = dict(zip(map(_key, rows[span]), beaten(*limits[span].T).tolist(), strict=True))
            alike = {
                name: [row for row, way in zip(rows[span], ways[span], strict=True) if way == name]
                for name in WAYS
                if name in ways[span]
            }
            found.append(_compared(settings.context_at(span.start), alike, shares, replicates))
    return _in_short(found)


def overall(contexts: Sequence[Compared], slower: str, faster: str) -> Overall | None:
    """Of one of GAINS; None where no context has it."""
    gains = [each.gains[slower, faster] for each in contexts if (slower, faster) in each.gains]
    if not gains:
        return None
    median = interval_of_ratios(np.log([gain.estimate for gain in gains]))
    above, below = sum((gain.low or 0) > 1 for gain in gains), sum((gain.high or np.inf) < 1 for gain in gains)
    known = sum(gain.low is not None for gain in gains)
    return Overall(median, len(gains), above, below, known * (1 - LEVEL) / 2)


def schedules_kept(repetitions: pd.DataFrame) -> tuple[int, Counter[str]]:
    """How many repetitions that looked for a schedule have kept one, and how many a single count, by the reason."""
    looked = _that_looked(repetitions)
    kept = looked["threads_kept"] == SCHEDULE
    return int(kept.sum()), Counter(looked.loc[~kept, "threads_kept_why"])


def kept_as_unset(contexts: Sequence[Compared], repetitions: pd.DataFrame) -> tuple[int, int]:
    """Of the repetitions that looked for a schedule where also nothing was set: how many have kept the very count that
    nobody set, which is the same setting, and how many there are."""
    pairs = [(each.ways[NONE], each.ways[DYNAMIC]) for each in contexts if {NONE, DYNAMIC} <= each.ways.keys()]
    unset = {dynamic.case: none.in_force for none, dynamic in pairs}
    looked = _that_looked(repetitions)
    kept, counts = looked["threads_kept"].tolist(), looked[_IN_FORCE].tolist()
    cases = list(zip(looked["sweep"], looked["case"], strict=True))
    same = [
        answer == FIXED and pd.notna(count) and unset[case] == count
        for case, answer, count in zip(cases, kept, counts, strict=True)
        if case in unset
    ]
    return sum(same), len(same)


def _that_looked(repetitions: pd.DataFrame) -> pd.DataFrame:
    """The repetitions that looked for a schedule, and did not follow that of a file."""
    if "threads_kept" not in repetitions:
        return repetitions.assign(threads_kept=None, threads_kept_why=None).head(0)
    return repetitions[repetitions["threads_kept"].notna() & repetitions["schedule"].isna()]


def _in_short(contexts: list[Compared]) -> list[Compared]:
    """Without the options of the model, where what else is known tells the contexts apart in fewer words."""
    short = [tuple(part for part in each.context if part[0] != "model_options") for each in contexts]
    if len(set(short)) < len(contexts):
        return contexts
    return [each._replace(context=context) for each, context in zip(contexts, short, strict=True)]


def _rows(cases: pd.DataFrame) -> list[Row]:
    """What is asked of the cases: thousands of small frames would take far longer."""
    asked = [name for name in _ASKED if name in cases]
    return [
        dict(zip(asked, values, strict=True)) for values in zip(*(cases[name].tolist() for name in asked), strict=True)
    ]


def _compared(
    context: Context, alike: Mapping[str, list[Row]], shares: dict[Key, float], replicates: Replicates
) -> Compared:
    """`alike` has the cases of each way."""
    timed = {name: _timed(rows, replicates) for name, rows in alike.items()}
    ways = {name: _way(name, rows, timed[name], shares) for name, rows in alike.items()}
    gains = {
        (slower, faster): _gain(timed[slower], timed[faster])
        for slower, faster in GAINS
        if slower in timed and faster in timed
    }
    return Compared(context, ways, gains, shares)


class _Timed(NamedTuple):
    """What a way takes, and `plausible` values of it, which make the intervals of gains."""

    time_s: Interval
    plausible: Floats | None
    is_lucky: bool


def _timed(rows: list[Row], replicates: Replicates) -> _Timed:
    honest = as_chosen([replicates.repetitions(_key(row)) for row in rows])
    used = honest or replicates.repetitions(_key(_fastest(rows)))
    samples, sizes = [row[SAMPLES] for row in used], [row[EFFECTIVE] for row in used]
    return _Timed(median_interval(samples, sizes), plausible_medians(samples, sizes), is_lucky=not honest)


def _way(name: str, rows: list[Row], timed: _Timed, shares: Mapping[Key, float]) -> Way:
    best = _fastest(rows)
    setting = {column: int(best[column]) for column in THREAD_COUNTS if pd.notna(best[column])}
    in_force = best.get(_IN_FORCE)
    energy = _energy_of_step(best)
    why = None if energy else (best["energy_reason"] or "no sensor has told it")
    return Way(
        name,
        _key(best),
        setting,
        None if pd.isna(in_force) else int(in_force),
        len(rows),
        timed.is_lucky,
        timed.time_s,
        energy,
        why,
        shares[_key(best)],
    )


def _fastest(rows: list[Row]) -> Row:
    return min(rows, key=lambda row: float(row["time_median_s"]))


def _key(case: Row) -> Key:
    return case["sweep"], case["case"]


def _gain(slower: _Timed, faster: _Timed) -> Interval:
    estimate = slower.time_s.estimate / faster.time_s.estimate if faster.time_s.estimate > 0 else np.nan
    above, below = slower.plausible, faster.plausible
    if above is None or below is None or not below.min() > 0:
        return Interval(estimate, None, None)
    return interval_of(estimate, above / shuffled(below, 1))


def _energy_of_step(case: Row) -> Interval | None:
    """Joules, of what a million items take."""
    value, *limits = (case.get(name) for name in _ENERGY)
    if pd.isna(value) or pd.isna(case["items_per_step"]):
        return None
    low, high = (None if pd.isna(limit) else float(limit) for limit in limits)
    return Interval(float(value), low, high).scaled(J_PER_KWH / cost.MILLION * float(case["items_per_step"]))
