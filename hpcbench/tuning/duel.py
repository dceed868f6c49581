"""Whether a setting is certainly better than another: both measured anew, side by side, until that is known.

What chose the challenger is not used again: the best of many is also the luckiest. From the third pair on, the interval
is looked at after each, and each look is at a level that leaves less than one wrong answer in a hundred to the whole
duel (Bonferroni's bound, over the looks there can be). To fail once may be chance: a champion that does has another
chance, for what takes its place is recommended.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.special import stdtrit

from hpcbench.analysis.statistics import LEVEL, Interval
from hpcbench.tuning.blocks import Notebook, Search
from hpcbench.tuning.effects import Effects, Measured, fit
from hpcbench.tuning.stages import Stage

FEWEST = 3  # pairs before anything is said
CHANCES = 2  # of the champion to complete
WRONG = 0.01  # how often a duel may be won by what is not better
NEGLIGIBLE = 0.01  # a gain that nobody cares about


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
            verdict = judge(fit(pairs), notebook.effects(Stage.FULL), challenger, champion, most - FEWEST + 1)
        if verdict.certain or _is_negligible(verdict.gain):
            break
    return verdict if verdict.pairs else Verdict(None, True, 0)


def judge(pairs: Effects, full: Effects, challenger: int, champion: int, looks: int) -> Verdict:
    """The verdict from the pairs alone, and the noise of all full measurements, which are more."""
    count = pairs.counts[challenger]
    ratio = pairs.costs[champion] - pairs.costs[challenger]
    # A pair may be noisier than the others: what is known from them narrows the quantile, and never the noise itself.
    error = max(pairs.scale, full.scale) * math.sqrt(2 / count)
    half = float(stdtrit(full.freedom, (1 + LEVEL) / 2)) * error
    bar = float(stdtrit(full.freedom, 1 - WRONG / looks)) * error
    return Verdict(Interval(math.exp(ratio), math.exp(ratio - half), math.exp(ratio + half)), ratio > bar, count)


def _is_negligible(gain: Interval | None) -> bool:
    return gain is not None and gain.high is not None and gain.high < 1 + NEGLIGIBLE
