"""Guidelines tested where they were not mined: on a network that the rule has never seen, with all its contexts.

A rule that is mined and told on the same cases has been chosen for them. So each network in turn is left out, the rules
are mined on the others (see guidelines.py), and the best of them is followed on the one left out: by the slowest
setting that follows it, since who knows only the rule may get that one (Stone, 1974, "Cross-validatory choice and
assessment of statistical predictions", Journal of the Royal Statistical Society B 36). A network is a model with its
number of weights, whatever its batch and the length of its sequences. A rule that rests on contexts of which noise lets
one say little is followed, too: it has still to hold where it was not mined.

Rules are mined of threads that are set or not, without dynamic ones: a schedule belongs to one network, and no rule
can name it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.bootstrap_replicates import Key
from hpcbench.analysis.stats.intervals import Interval, interval_of_values
from hpcbench.analysis.stats.superiority import beaten
from hpcbench.analysis.studies.guidelines import TOLERANCE, following, mine, wilson
from hpcbench.analysis.studies.threads import ways_of
from hpcbench.analysis.studies.tuning_contexts import Settings
from hpcbench.core.frameworks import DYNAMIC, THREAD_COUNTS

FEWEST_NETWORKS = 2
_NETWORK = ["model", "parameter_count"]


class Followed(NamedTuple):
    """The setting that a rule chooses in a context of a network that it was not mined on.

    `slower` is its time over that of the best setting of the context, `is_within` says that it is not certainly slower
    than the tolerance allows, `beats` is the part of the context's other configurations that it beats.
    """

    case: Key
    words: str
    slower: float
    is_within: bool
    beats: float

    @property
    def is_unclear(self) -> bool:
        """Whether it may be slower than the tolerance allows, and noise hides it."""
        return self.is_within and self.slower > 1 + TOLERANCE


class Transfer(NamedTuple):
    """How rules do on networks that they were not mined on: `beats` is the median over the contexts.

    Of `networks` that were left out in turn, `without_rule` found none that held on the others.
    """

    followed: tuple[Followed, ...]
    networks: int
    without_rule: int
    within: Interval
    beats: Interval


def transfer(cases: pd.DataFrame) -> Transfer | None:
    """None where there are no two networks, or no rule holds that could be followed."""
    # The numbers of threads say what the way says, and would else be compared within each way alone.
    fixed = cases[ways_of(cases) != DYNAMIC].drop(columns="threads", errors="ignore")
    networks = fixed[fixed["time_median_s"].notna()].groupby(_NETWORK, dropna=False, sort=False)
    if networks.ngroups < FEWEST_NETWORKS:
        return None
    settings = Settings.of(fixed, THREAD_COUNTS)
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
    settings: Settings, shares: dict[int, float], own: pd.Index[int], others: pd.DataFrame
) -> Iterator[Followed]:
    """In each context of a network, the slowest setting that follows the best rule of the others."""
    rules = mine(others, THREAD_COUNTS, most_unclear=1)
    if not rules:
        return
    chosen = following(settings, rules[0].conditions) & settings.cases.index.isin(own)
    for row in settings.slowest(chosen):
        case, slower = settings.cases.iloc[row], float(settings.slower[row])
        is_within = not (settings.surely[row] and slower > 1 + TOLERANCE)
        yield Followed((case["sweep"], case["case"]), rules[0].words, slower, is_within, shares[row])


def _shares(settings: Settings) -> dict[int, float]:
    """By row of the settings, the part of the others of its context that it beats."""
    limits = settings.cases[["time_ci_low_s", "time_ci_high_s"]].to_numpy(dtype=np.float64, na_value=np.nan)
    parts = [beaten(*limits[span].T).tolist() for span in settings.spans]
    return dict(enumerate(share for part in parts for share in part))


def _median_share(shares: list[float]) -> Interval:
    """Limits are no further than shares go."""
    median, low, high = interval_of_values(shares)
    return Interval(median, low, None if high is None else min(high, 1.0))
