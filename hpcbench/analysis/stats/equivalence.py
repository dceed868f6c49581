"""Verdicts on two sets of runs: NEW is faster or slower than BASE, the same, or the comparison is inconclusive.

The rule, for two sets of runs of the same workload:

- slower or faster: Welch's test passes at a false discovery rate of 1 % over all comparisons (Benjamini and Hochberg,
1995, "Controlling the false discovery rate", Journal of the Royal Statistical Society B 57), the exact rank-sum test
agrees at 1 %, the ratio of the medians is beyond the margin, and each side has at least five repetitions: with fewer,
the rank-sum test cannot reach 1 %.

- same: the 95 % CI of the ratio is within the margin, equivalent to two one-sided tests at 2.5 % (Schuirmann, 1987, "A
comparison of the two one-sided tests procedure and the power approach", Journal of Pharmacokinetics and
Biopharmaceutics 15).

- inconclusive: all other cases, with the reason and the number of runs needed.

One test alone is not enough: for bimodal run times, Welch's test finds a difference of a case to itself in up to 3 % of
trials. The rank-sum test does so in 1 % under any noise, but cannot reach the small p-values that a correction for many
cases requires. `make bench-comparing` measures the error rates of the combination.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hpcbench.analysis.stats.intervals import LEVEL, Floats
from hpcbench.analysis.stats.rank_sum import rank_sum_p
from hpcbench.analysis.stats.two_samples import MIN_REPETITIONS, Ratio, ratio_of_medians, runs_needed

FALSE_DISCOVERY_RATE = 0.01
RANK_SUM_LEVEL = 0.01
MARGIN = 0.01
MAX_REPETITIONS = 100  # per side; more is impractical

FASTER, SLOWER, SAME, INCONCLUSIVE = "faster", "slower", "same", "inconclusive"


class Pair(NamedTuple):
    """The positive values of the runs of both sides, one per run, and whether more is better."""

    base: Floats
    new: Floats
    more_is_better: bool = False


class Verdict(NamedTuple):
    """A verdict. `p_value` is corrected for multiple comparisons; `rank_sum_p` is not, and None if not computed."""

    word: str
    ratio: Ratio
    p_value: float | None = None
    rank_sum_p: float | None = None
    reason: str | None = None
    runs_needed: int | None = None


def evaluate(pairs: Sequence[Pair], margin: float = MARGIN) -> list[Verdict]:
    """Return a verdict for each pair; `margin` is relative: 0.01 is a ratio of medians from 1/1.01 to 1.01."""
    ratios = [ratio_of_medians(pair.base, pair.new) for pair in pairs]
    known = [ratio.p_value for ratio in ratios if ratio.p_value is not None]
    corrected = iter(false_discovery_adjusted(known))
    return [
        _verdict(pair, ratio, None if ratio.p_value is None else next(corrected), math.log1p(margin))
        for pair, ratio in zip(pairs, ratios, strict=True)
    ]


def false_discovery_adjusted(p_values: Sequence[float]) -> list[float]:
    """Return the smallest false discovery rate at which each is significant (Benjamini and Hochberg, 1995)."""
    order = np.argsort(p_values)
    rates = np.asarray(p_values)[order] * (order.size / np.arange(1, order.size + 1))
    adjusted = np.empty(order.size)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(rates[::-1])[::-1])
    return adjusted.tolist()


def _verdict(pair: Pair, ratio: Ratio, p_value: float | None, margin: float) -> Verdict:
    """Return a verdict; `margin` is a difference of logarithms, so that it is symmetric in BASE and NEW."""
    if ratio.low is None or ratio.high is None or p_value is None:
        reason = f"{_counts(pair)}: a CI needs 2 runs per side; a verdict of faster or slower needs {MIN_REPETITIONS}"
        return Verdict(INCONCLUSIVE, ratio, reason=reason, runs_needed=MIN_REPETITIONS)
    if -margin <= _log(ratio.low) and _log(ratio.high) <= margin:
        return Verdict(SAME, ratio, p_value)
    beyond = abs(_log(ratio.estimate)) > margin
    few = min(pair.base.size, pair.new.size) < MIN_REPETITIONS
    ranks = rank_sum_p(pair.base, pair.new) if beyond and not few and p_value <= FALSE_DISCOVERY_RATE else None
    if ranks is not None and ranks <= RANK_SUM_LEVEL:
        word = FASTER if (ratio.estimate > 1) == pair.more_is_better else SLOWER
        return Verdict(word, ratio, p_value, ranks)
    if not beyond:
        doubt = "the interval exceeds the margin"
    elif few:
        doubt = f"{_counts(pair)} are too few for a verdict"
    elif ranks is None:
        doubt = f"not significant (corrected p = {p_value:.2g})"
    else:
        doubt = f"runs of both sides overlap (rank-sum p = {ranks:.2g})"
    needed = _needed(pair, ratio, margin)
    return Verdict(INCONCLUSIVE, ratio, p_value, ranks, f"{doubt}; {_advice(needed)}", needed)


def _log(ratio: float) -> float:
    return math.log(ratio) if ratio else -math.inf


def _needed(pair: Pair, ratio: Ratio, margin: float) -> int | None:
    """Return the runs per side for a verdict at the same ratio and noise; None above MAX_REPETITIONS."""
    distance = abs(_log(ratio.estimate))
    level = FALSE_DISCOVERY_RATE
    if distance <= margin:
        distance, level = margin - distance, 1 - LEVEL
    needed = runs_needed(distance, ratio.variance or 0.0, level, MAX_REPETITIONS)
    return needed and max(needed, min(pair.base.size, pair.new.size) + 1)


def _advice(needed: int | None) -> str:
    if needed is None:
        return f"more than {MAX_REPETITIONS} runs per side would be needed: measure on an idle machine"
    return f"about {needed} runs per side would suffice"


def _counts(pair: Pair) -> str:
    if pair.base.size == pair.new.size:
        return f"{pair.new.size} runs per side" if pair.new.size > 1 else "1 run per side"
    return f"{pair.base.size} and {pair.new.size} runs"
