"""Decide whether a configuration is significantly better than another, by new measurements of both in pairs.

The measurements that selected the challenger are not used, because they favour it. From the third pair on, the
interval is tested after each pair, and each test spends a share of the overall error rate (alpha spending: Lan and
DeMets, 1983, "Discrete sequential boundaries for clinical trials", Biometrika 70; added up by Bonferroni's bound).
Later tests spend more, because their estimate of the noise is better. An incumbent that fails is tried again: a single
failure may be chance, and would cause another configuration to be recommended.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from hpcbench.analysis.stats.distributions import student_quantile
from hpcbench.analysis.stats.intervals import LEVEL, Interval
from hpcbench.tuning.ask_tell import Search, Trials
from hpcbench.tuning.block_model import Effects, Measured, fit
from hpcbench.tuning.fidelity import Stage

MIN_PAIRS = 3  # before the first test
MAX_FAILURES = 2  # of the incumbent without any pair
# Of all tests together. Fits of few pairs underestimate their noise, and make up to twice as many errors.
ERROR_RATE = 0.01
NEGLIGIBLE = 0.01  # a gain below this does not justify a change
# Maximum degrees of freedom of the noise of other configurations: that of this pair may differ.
_TRUSTED = 2


class Verdict(NamedTuple):
    """The result: `gain` is the cost ratio of incumbent to challenger with its 95 % CI; `pairs` is the number of pairs.

    `gain` is None if one of them failed. `certain` is True if the challenger is significantly better.
    """

    gain: Interval | None
    certain: bool
    pairs: int


def compare(trials: Trials, challenger: int, incumbent: int, most: int) -> Search[Verdict]:
    """Measure both in at most `most` pairs, or MIN_PAIRS if that is more, and return the verdict.

    A challenger that fails loses. An incumbent that fails MAX_FAILURES times loses if no pair is complete; otherwise
    the complete pairs decide.
    """
    most = max(most, MIN_PAIRS)
    pairs: list[Measured] = []
    verdict, failures = Verdict(None, False, 0), 0
    while verdict.pairs < most and failures < MAX_FAILURES:
        logs = yield from trials.measure((challenger, incumbent), Stage.FULL)
        if challenger not in logs:
            return Verdict(None, False, verdict.pairs)
        if incumbent not in logs:
            failures += 1
            if verdict.pairs or failures < MAX_FAILURES:
                trials.failed.discard(incumbent)
            continue
        count = verdict.pairs + 1
        pairs += [Measured(configuration, count, log) for configuration, log in logs.items()]
        verdict = Verdict(None, False, count)
        if count >= MIN_PAIRS:
            level = 1 - ERROR_RATE * alpha_share(count, most)
            verdict = evaluate(fit(pairs), trials.effects(Stage.FULL), challenger, incumbent, level)
        if verdict.certain or _is_negligible(verdict.gain):
            break
    return verdict if verdict.pairs else Verdict(None, True, 0)


def alpha_share(count: int, most: int) -> float:
    """Return the share of the error rate for the test after `count` pairs: proportional to the square of its number."""
    return (count - MIN_PAIRS + 1) ** 2 / sum(look**2 for look in range(1, most - MIN_PAIRS + 2))


def evaluate(pairs: Effects, full: Effects, challenger: int, incumbent: int, level: float) -> Verdict:
    """Return the verdict at this confidence level, from the pairs and the noise of all full measurements.

    The two variances are weighted by their degrees of freedom (Smyth, 2004, "Linear models and empirical Bayes
    methods", Statistical Applications in Genetics and Molecular Biology 3). That of all measurements has at most two,
    because configurations differ in noise. If the pairs have the larger variance, it is used alone.
    """
    count, freedom, variance = pairs.counts[challenger], pairs.freedom, pairs.scale**2
    if full.scale > pairs.scale:
        trusted = min(_TRUSTED, full.freedom)
        variance = (freedom * variance + trusted * full.scale**2) / (freedom + trusted)
        freedom += trusted
    error = math.sqrt(variance * 2 / count)
    ratio = pairs.costs[incumbent] - pairs.costs[challenger]
    half = student_quantile(freedom, (1 + LEVEL) / 2) * error
    certain = ratio > student_quantile(freedom, level) * error
    return Verdict(Interval(math.exp(ratio), math.exp(ratio - half), math.exp(ratio + half)), certain, count)


def _is_negligible(gain: Interval | None) -> bool:
    return gain is not None and gain.high is not None and gain.high < 1 + NEGLIGIBLE
