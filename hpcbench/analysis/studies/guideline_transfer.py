"""A leave-one-network-out test of guidelines.

A rule that is mined and evaluated on the same cases is biased towards them. So each network in turn is left out with
all its contexts, rules are mined from the others (see guidelines.py), and the best rule is applied to it. The result is
the slowest configuration that follows the rule, which a user of the rule may get (Stone, 1974, "Cross-validatory choice
and assessment of statistical predictions", Journal of the Royal Statistical Society B 36). A network is a model with
its number of weights, for any batch size and sequence length. Rules with mostly unclear contexts are included.

Dynamic threads are excluded: a per-layer thread plan applies to one network only.
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
    """The slowest configuration that follows a rule in a context of a network that the rule was not mined from.

    `slower` is its time over the best time of the context, `is_within` whether it does not significantly exceed the
    tolerance, `beats` the fraction of the context's other configurations that it beats.
    """

    case: Key
    words: str
    slower: float
    is_within: bool
    beats: float

    @property
    def is_unclear(self) -> bool:
        """Return whether it exceeds the tolerance, but not significantly."""
        return self.is_within and self.slower > 1 + TOLERANCE


class Transfer(NamedTuple):
    """The result of the test: the fraction of contexts within tolerance, and the median over contexts of `beats`.

    For `without_rule` of the `networks`, the other networks gave no rule that could be followed.
    """

    followed: tuple[Followed, ...]
    networks: int
    without_rule: int
    within: Interval
    beats: Interval


@lru_cache(maxsize=1)
def guideline_test(results: Results) -> Transfer | None:
    """Return the leave-one-network-out test of guidelines for threads; None without thread contexts."""
    return transfer(results.planned_cases) if contexts_of(results) else None


def transfer(cases: pd.DataFrame) -> Transfer | None:
    """Return the leave-one-network-out test; None with fewer than two networks, or if no rule can be followed."""
    # Thread counts determine the mode; with its column, contexts would not span modes.
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
    """Yield for each context of a network the slowest configuration that follows the best rule of other networks."""
    rules = mine(others, THREAD_COUNTS, most_unclear=1)
    if not rules:
        return
    chosen = following(settings, rules[0].conditions) & settings.cases.index.isin(own)
    for row in settings.slowest(chosen):
        case, slower = settings.cases.iloc[row], float(settings.slower[row])
        is_within = not (settings.surely[row] and slower > 1 + TOLERANCE)
        yield Followed((case["sweep"], case["case"]), rules[0].words, slower, is_within, shares[row])


def _shares(settings: TuningContexts) -> dict[int, float]:
    """Return for each row the fraction of the other configurations of its context that it beats."""
    limits = settings.cases[["time_ci_low_s", "time_ci_high_s"]].to_numpy(dtype=np.float64, na_value=np.nan)
    parts = [beaten(*limits[span].T).tolist() for span in settings.spans]
    return dict(enumerate(share for part in parts for share in part))


def _median_share(shares: list[float]) -> Interval:
    """Return the median share with its interval, whose upper limit is at most 1."""
    median, low, high = interval_of_values(shares)
    return Interval(median, low, None if high is None else min(high, 1.0))
