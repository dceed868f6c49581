"""Whether a setting is certainly better than another: both measured anew, side by side, until that is known.

What chose the challenger is not used again: the best of many is also the luckiest. From the third pair on, the interval
is looked at after each, and each look has a part of the wrong answers that the whole duel may give, two in a hundred
(alpha spending: Lan and DeMets, 1983, "Discrete sequential boundaries for clinical trials", Biometrika 70; added up by
Bonferroni's bound). Later looks have more of it, since earlier ones know less of the noise. To fail once may be chance:
a champion that does has another chance, for what takes its place is recommended.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.special import stdtrit

from hpcbench.analysis.stats.intervals import LEVEL, Interval
from hpcbench.tuning.ask_tell import Notebook, Search
from hpcbench.tuning.block_model import Effects, Measured, fit
from hpcbench.tuning.fidelity import Stage

FEWEST = 3  # pairs before anything is said
CHANCES = 2  # of the champion to complete
# Of all looks together. Fits of few pairs know too little of their own noise, and make up to twice as many of it.
WRONG = 0.01
NEGLIGIBLE = 0.01  # a gain that nobody cares about
# Degrees of freedom, at most, that the noise of other settings counts for: that of this pair may be another.
_TRUSTED = 2


class Verdict(NamedTuple):
    """`gain` is how many times as good the challenger is, with its 95 % interval, known from so many `pairs`; None
    where one of them failed. `certain` says that it is better."""

    gain: Interval | None
    certain: bool
    pairs: int


def duel(notebook: Notebook, challenger: int, champion: int, most: int) -> Search[Verdict]:
    """Measure both in pairs, `most` of them but at least FEWEST. A challenger that fails has lost, and so has a
    champion that fails at each of its chances; one that has completed is judged by that, and counts as good."""
    most = max(most, FEWEST)
    pairs: list[Measured] = []
    verdict, failures = Verdict(None, False, 0), 0
    while verdict.pairs < most and failures < CHANCES:
        logs = yield from notebook.measure((challenger, champion), Stage.FULL)
        if challenger not in logs:
            return Verdict(None, False, verdict.pairs)
        if champion not in logs:
            failures += 1
            if verdict.pairs or failures < CHANCES:
                notebook.failed.discard(champion)
            continue
        count = verdict.pairs + 1
        pairs += [Measured(setting, count, log) for setting, log in logs.items()]
        verdict = Verdict(None, False, count)
        if count >= FEWEST:
            level = 1 - WRONG * part_of_look(count, most)
            verdict = judge(fit(pairs), notebook.effects(Stage.FULL), challenger, champion, level)
        if verdict.certain or _is_negligible(verdict.gain):
            break
    return verdict if verdict.pairs else Verdict(None, True, 0)


def part_of_look(count: int, most: int) -> float:
    """The part of all wrong answers that a look after so many pairs may give: as the square of its number."""
    return (count - FEWEST + 1) ** 2 / sum(look**2 for look in range(1, most - FEWEST + 2))


def judge(pairs: Effects, full: Effects, challenger: int, champion: int, level: float) -> Verdict:
    """The verdict, certain at this level, from the pairs and the noise of all full measurements.

    The two variances are weighed by their degrees of freedom (Smyth, 2004, "Linear models and empirical Bayes methods",
    Statistical Applications in Genetics and Molecular Biology 3), those of all measurements by few: some settings are
    noisier than others. Pairs that are the noisier ones count alone.
    """
    count, freedom, variance = pairs.counts[challenger], pairs.freedom, pairs.scale**2
    if full.scale > pairs.scale:
        trusted = min(_TRUSTED, full.freedom)
        variance = (freedom * variance + trusted * full.scale**2) / (freedom + trusted)
        freedom += trusted
    error = math.sqrt(variance * 2 / count)
    ratio = pairs.costs[champion] - pairs.costs[challenger]
    half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    certain = ratio > float(stdtrit(freedom, level)) * error
    return Verdict(Interval(math.exp(ratio), math.exp(ratio - half), math.exp(ratio + half)), certain, count)


def _is_negligible(gain: Interval | None) -> bool:
    return gain is not None and gain.high is not None and gain.high < 1 + NEGLIGIBLE
