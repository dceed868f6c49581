"""A test of guidelines on networks that they were not mined from, with all their contexts.

A rule that is mined and evaluated on the same cases has been selected for them. So each network in turn is left out,
rules are mined from the others (see guidelines.py), and the best rule is followed on it, by its slowest configuration,
since a user who knows only the rule may get that one (Stone, 1974, "Cross-validatory choice and assessment of
statistical predictions", Journal of the Royal Statistical Society B 36). A network is a model with its number of
weights, for any batch size and sequence length. Rules that rest on unclear contexts are followed, too.

Dynamic threads are left out: a schedule belongs to one network.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from hpcbench.analysis.stats.intervals import Interval, interval_of_values
from hpcbench.analysis.stats.superiority import beaten
from hpcbench.analysis.studies.guidelines import TOLERANCE, following, mine, wilson
from hpcbench.analysis.studies.threads import contexts_of, modes_of
from hpcbench.analysis.studies.tuning_contexts import TuningContexts
from hpcbench.core.frameworks import DYNAMIC, THREAD_COUNTS

if TYPE_CHECKING:
    from hpcbench.analysis.cases.bootstrap_replicates import Key
    from hpcbench.analysis.results import Results

MIN_NETWORKS = 2
_NETWORK = ["model", "parameter_count"]


class Followed(NamedTuple):
    """The configuration that a rule chooses in a context of a network that it was not mined from.

    `slower` is its time over that of the best of the context, `is_within` says that it is not significantly slower than
    the tolerance, `beats` is the fraction of the context's other configurations that it beats.
    """

    case: Key
    words: str
    slower: float
    is_within: bool
    beats: float

    @property
    def is_unclear(self) -> bool:
        """Return whether it may be slower than the tolerance, hidden by noise."""
        return self.is_within and self.slower > 1 + TOLERANCE


class Transfer(NamedTuple):
    """How rules do on networks that they were not mined from. `beats` is the median over the contexts.

    For `without_rule` of the `networks`, no rule held on the other networks.
    """

    followed: tuple[Followed, ...]
    networks: int
    without_rule: int
    within: Interval
    beats: Interval


@lru_cache(maxsize=1)
def guideline_test(results: Results) -> Transfer | None:
    """Return how guidelines for threads do on networks they were not mined on; None without thread contexts."""
    return transfer(results.planned_cases) if contexts_of(results) else None


def transfer(cases: pd.DataFrame) -> Transfer | None:
    """Return the test of guidelines; None with fewer than two networks, or if no rule can be followed."""
    # The numbers of threads say what the way says, and would else be compared within each way alone.
    fixed = cases[modes_of(cases) != DYNAMIC].drop(columns="threads", errors="ignore")
    networks = fixed[fixed["time_median_s"].notna()].groupby(_NETWORK, dropna=False, sort=False)
    if networks.ngroups < MIN_NETWORKS:
        return None
    settings = TuningContexts.of(fixed, THREAD_COUNTS)
    shares = _shares(settings)
    found: list[Followed] = []
    without_rule = 0
    for _, own in networks:
        followed = list(_followed(settings, shares, own.index, fixed.drop(own.index)))
        found += followed
        without_rule += not followed
    if not found:
        return None
    within = wilson(sum(each.is_within for each in found), len(found))
    return Transfer(tuple(found), networks.ngroups, without_rule, within, _median_share([each.beats for each in found]))


def _followed(
    settings: TuningContexts, shares: dict[int, float], own: pd.Index[int], others: pd.DataFrame
) -> Iterator[Followed]:
    """Yield for each context of a network the slowest configuration that follows the best rule of the others."""
    rules = mine(others, THREAD_COUNTS, most_unclear=1)
    if not rules:
        return
    chosen = following(settings, rules[0].conditions) & settings.cases.index.isin(own)
    for row in settings.slowest(chosen):
        case, slower = settings.cases.iloc[row], float(settings.slower[row])
        is_within = not (settings.surely[row] and slower > 1 + TOLERANCE)
        yield Followed((case["sweep"], case["case"]), rules[0].words, slower, is_within, shares[row])


def _shares(settings: TuningContexts) -> dict[int, float]:
    """Return by row the fraction of the other configurations of its context that it beats."""
    limits = settings.cases[["time_ci_low_s", "time_ci_high_s"]].to_numpy(dtype=np.float64, na_value=np.nan)
    parts = [beaten(*limits[span].T).tolist() for span in settings.spans]
    return dict(enumerate(share for part in parts for share in part))


def _median_share(shares: list[float]) -> Interval:
    """Return the median share, with limits of at most 1."""
    median, low, high = interval_of_values(shares)
    return Interval(median, low, None if high is None else min(high, 1.0))
