"""Compare thread modes by context: unset, fixed, and dynamic threads, which change between layers.

A context is one workload on one type of machine (see tuning_contexts.py): one network, task, batch size and sequence
length. Each mode is represented by its fastest case. If it is chosen among several, its time is cross-validated (see
cross_validated_choice.py): otherwise the best of sixteen fixed configurations would beat a dynamic one by chance. A
gain is the ratio of the times of two modes, with an interval from replicates: 1.1 is 10 % faster. It is significant if
its interval is above 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from hpcbench.analysis.cases import cost
from hpcbench.analysis.cases.bootstrap_replicates import Key, Replicates, interval_of, shuffled
from hpcbench.analysis.cases.case_table import EFFECTIVE, Row
from hpcbench.analysis.stats.intervals import LEVEL, Floats, Interval, median_interval, plausible_medians
from hpcbench.analysis.stats.paired_effects import interval_of_ratios
from hpcbench.analysis.stats.superiority import beaten
from hpcbench.analysis.studies.cross_validated_choice import as_chosen
from hpcbench.analysis.studies.tuning_contexts import Context, TuningContexts
from hpcbench.config.metrics import interval_columns
from hpcbench.core.energy import J_PER_KWH
from hpcbench.core.frameworks import DYNAMIC, FIXED, NONE, SCHEDULE, THREAD_COUNTS
from hpcbench.core.samples import SAMPLES

if TYPE_CHECKING:
    from hpcbench.analysis.results import Results

MODES = (NONE, FIXED, DYNAMIC)
# Pairs of modes that are compared; the second is expected to be faster.
GAINS = ((NONE, FIXED), (FIXED, DYNAMIC), (NONE, DYNAMIC))
_SETTINGS = (
    "threads",
    "schedule",
    "section_depth",
    *THREAD_COUNTS,
)  # optional columns of a table that define mode and setting
_LIMITS = ("time_ci_low_s", "time_ci_high_s")
_ENERGY = (cost.ENERGY, *interval_columns(cost.ENERGY))
_IN_FORCE = "effective_intra_op_threads"
_ASKED = ("sweep", "case", *THREAD_COUNTS, _IN_FORCE, "time_median_s", "items_per_step", "energy_reason", *_ENERGY)


class ThreadMode(NamedTuple):
    """The fastest case of one mode in a context.

    `time_s` and `energy_j` are per step; `no_energy` is the reason if the energy is None. `is_lucky` marks a time that
    is not cross-validated, although the case was chosen among `chosen_of`. `beats` is the fraction of the other
    configurations of the context that it beats. `in_force` is the effective number of intra-op threads.
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


class ThreadContext(NamedTuple):
    """A context with its modes, the gains between them, and by case the `shares` of other cases that it beats."""

    context: Context
    modes: dict[str, ThreadMode]
    gains: dict[tuple[str, str], Interval]
    shares: dict[Key, float]


class Overall(NamedTuple):
    """The median gain over contexts with both modes, and the numbers of contexts significantly above and below 1.

    `by_chance` is the expected number on each side if all gains are 1, since each limit of a 95 % CI is wrong in 2.5 %.
    """

    gain: Interval
    contexts: int
    above: int
    below: int
    by_chance: float


def modes_of(cases: pd.DataFrame) -> pd.Series[str]:
    """Return the mode of each case: that of the column `threads`, or FIXED if any thread count is set, or NONE."""
    is_set = cases[list(THREAD_COUNTS)].notna().any(axis=1)
    found: pd.Series[str] = is_set.map({False: NONE, True: FIXED})
    if "threads" in cases:
        found[cases["threads"].isin(MODES)] = cases["threads"]
    return found


@lru_cache(maxsize=1)
def contexts_of(results: Results) -> list[ThreadContext]:
    """Return the contexts with several thread modes in the sweeps of a report, without tuning searches."""
    return thread_contexts(results.planned_cases, results.replicates)


def thread_contexts(cases: pd.DataFrame, replicates: Replicates) -> list[ThreadContext]:
    """Return the contexts of `cases` with at least two modes, in the order of the table; `replicates` are of its
    cases."""
    if modes_of(cases[cases["time_median_s"].notna()]).nunique() < 2:
        return []
    settings = TuningContexts.of(cases, [name for name in _SETTINGS if name in cases])
    rows, modes = _rows(settings.cases), modes_of(settings.cases).tolist()
    limits, found = settings.cases[list(_LIMITS)].astype(float).to_numpy(), []
    for span in settings.spans:
        if len(set(modes[span])) > 1:
            shares = dict(zip(map(_key, rows[span]), beaten(*limits[span].T).tolist(), strict=True))
            alike = {
                name: [row for row, mode in zip(rows[span], modes[span], strict=True) if mode == name]
                for name in MODES
                if name in modes[span]
            }
            found.append(_compared(settings.context_at(span.start), alike, shares, replicates))
    return _in_short(found)


def overall(contexts: Sequence[ThreadContext], slower: str, faster: str) -> Overall | None:
    """Return the overall gain of the mode `faster` over `slower`; None if no context has both."""
    gains = [each.gains[slower, faster] for each in contexts if (slower, faster) in each.gains]
    if not gains:
        return None
    median = interval_of_ratios(np.log([gain.estimate for gain in gains]))
    above, below = sum((gain.low or 0) > 1 for gain in gains), sum((gain.high or np.inf) < 1 for gain in gains)
    known = sum(gain.low is not None for gain in gains)
    return Overall(median, len(gains), above, below, known * (1 - LEVEL) / 2)


def schedules_kept(repetitions: pd.DataFrame) -> tuple[int, Counter[str]]:
    """Return how many runs with a thread search kept a schedule, and how many a single count, by reason."""
    looked = _that_looked(repetitions)
    kept = looked["threads_kept"] == SCHEDULE
    return int(kept.sum()), Counter(looked.loc[~kept, "threads_kept_why"])


def kept_as_unset(contexts: Sequence[ThreadContext], repetitions: pd.DataFrame) -> tuple[int, int]:
    """Return how many thread searches kept the count that is effective when unset, and how many have both modes."""
    pairs = [(each.modes[NONE], each.modes[DYNAMIC]) for each in contexts if {NONE, DYNAMIC} <= each.modes.keys()]
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
    """Return the runs that searched for a schedule, without those that read one from a file."""
    if "threads_kept" not in repetitions:
        return repetitions.assign(threads_kept=None, threads_kept_why=None).head(0)
    return repetitions[repetitions["threads_kept"].notna() & repetitions["schedule"].isna()]


def _in_short(contexts: list[ThreadContext]) -> list[ThreadContext]:
    """Return the contexts without model options, if they are unique without them."""
    short = [tuple(part for part in each.context if part[0] != "model_options") for each in contexts]
    if len(set(short)) < len(contexts):
        return contexts
    return [each._replace(context=context) for each, context in zip(contexts, short, strict=True)]


def _rows(cases: pd.DataFrame) -> list[Row]:
    """Return the used columns as dicts, which are far faster than thousands of small frames."""
    asked = [name for name in _ASKED if name in cases]
    return [
        dict(zip(asked, values, strict=True)) for values in zip(*(cases[name].tolist() for name in asked), strict=True)
    ]


def _compared(
    context: Context, alike: Mapping[str, list[Row]], shares: dict[Key, float], replicates: Replicates
) -> ThreadContext:
    """Return a context with its gains; `alike` holds the cases of each mode, `shares` the fractions they beat."""
    timed = {name: _timed(rows, replicates) for name, rows in alike.items()}
    modes = {name: _mode(name, rows, timed[name], shares) for name, rows in alike.items()}
    gains = {
        (slower, faster): _gain(timed[slower], timed[faster])
        for slower, faster in GAINS
        if slower in timed and faster in timed
    }
    return ThreadContext(context, modes, gains, shares)


class _ModeTime(NamedTuple):
    """The step time of a mode in seconds, and its replicates (`plausible`) for the intervals of gains."""

    time_s: Interval
    plausible: Floats | None
    is_lucky: bool


def _timed(rows: list[Row], replicates: Replicates) -> _ModeTime:
    honest = as_chosen([replicates.repetitions(_key(row)) for row in rows])
    used = honest or replicates.repetitions(_key(_fastest(rows)))
    samples, sizes = [row[SAMPLES] for row in used], [row[EFFECTIVE] for row in used]
    return _ModeTime(median_interval(samples, sizes), plausible_medians(samples, sizes), is_lucky=not honest)


def _mode(name: str, rows: list[Row], timed: _ModeTime, shares: Mapping[Key, float]) -> ThreadMode:
    best = _fastest(rows)
    setting = {column: int(best[column]) for column in THREAD_COUNTS if pd.notna(best[column])}
    in_force = best.get(_IN_FORCE)
    energy = _energy_of_step(best)
    why = None if energy else (best["energy_reason"] or "not measured (no sensor)")
    return ThreadMode(
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


def _gain(slower: _ModeTime, faster: _ModeTime) -> Interval:
    estimate = slower.time_s.estimate / faster.time_s.estimate if faster.time_s.estimate > 0 else np.nan
    above, below = slower.plausible, faster.plausible
    if above is None or below is None or not below.min() > 0:
        return Interval(estimate, None, None)
    return interval_of(estimate, above / shuffled(below, 1))


def _energy_of_step(case: Row) -> Interval | None:
    """Return the energy per step in J with its interval; None if it is unknown."""
    value, *limits = (case.get(name) for name in _ENERGY)
    if pd.isna(value) or pd.isna(case["items_per_step"]):
        return None
    low, high = (None if pd.isna(limit) else float(limit) for limit in limits)
    return Interval(float(value), low, high).scaled(J_PER_KWH / cost.MILLION * float(case["items_per_step"]))
