"""The search: drop bad configurations, measure good ones for longer, confirm the best."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from hpcbench.analysis.stats.intervals import LEVEL
from hpcbench.tuning.ask_tell import Search, Trials
from hpcbench.tuning.block_model import Effects
from hpcbench.tuning.fidelity import Stage
from hpcbench.tuning.paired_comparison import MIN_PAIRS, Verdict, compare
from hpcbench.tuning.successive_halving import halve

FINALISTS = 3
FINALS = 2  # measurements of each finalist at full length
MAX_PAIRS_FRACTION = 0.045  # of the full grid


class Sampler(Protocol):
    """Choose configurations to measure if there are too many to measure all."""

    def sample(self, trials: Trials, default: int) -> Search[None]:
        """Measure some configurations briefly."""


@dataclass(frozen=True)
class SearchResult:
    """The result of a search. `winner` is the best candidate, `best` the recommended configuration.

    `best` is the default unless `winner` is significantly better. `verdict` compares `winner` with the default; it is
    None if they are the same.
    """

    best: int
    winner: int
    verdict: Verdict | None
    effects: Effects


def search(
    trials: Trials, configurations: Collection[int], default: int, repetitions: int, sampler: Sampler | None = None
) -> Search[SearchResult | None]:
    """Return the best of these configurations, which include the default; None if all failed.

    If all finalists fail at full length, continue with the best of the others. With a sampler, compare only its
    configurations. `repetitions` is the number of measurements of a configuration in the full grid.
    """
    if sampler is None:
        yield from trials.measure(configurations, Stage.SHORT)
    else:
        yield from sampler.sample(trials, default)
    while trials.configurations:
        finalists = yield from halve(trials, trials.configurations, FINALISTS)
        winner = yield from _final(trials, finalists)
        if winner is None:
            continue
        if winner == default:
            effects = trials.effects()  # before the default may fail, which would exclude it
            yield from _known(trials, default)
            return SearchResult(winner, winner, None, effects)
        trials.failed.discard(default)  # a single failure may be chance, and would change the recommendation
        verdict = yield from compare(trials, winner, default, max_pairs(len(configurations), repetitions))
        best = winner if verdict.certain else default
        if best in trials.configurations:  # unless both have failed
            return SearchResult(best, winner, verdict, trials.effects())
    return None


def _known(trials: Trials, configuration: int) -> Search[None]:
    """Measure a configuration in full until its median has an interval."""
    for _ in range(MIN_PAIRS - trials.times(configuration, Stage.FULL)):
        yield from trials.measure([configuration], Stage.FULL)


def max_pairs(configurations: int, repetitions: int) -> int:
    """Return the maximum number of pairs of the final comparison: the number of runs of a case.

    In a large grid it is up to three times as many, as long as the whole search stays below a quarter of the grid.
    """
    return max(repetitions, min(3 * repetitions, int(MAX_PAIRS_FRACTION * configurations * repetitions)))


def _final(trials: Trials, finalists: Collection[int]) -> Search[int | None]:
    """Return the best of the finalists by full measurements; None if all fail."""
    left = set(finalists)
    for _ in range(FINALS):
        yield from trials.measure(left, Stage.FULL)
        left -= trials.failed
        if not left:
            return None
        order = [configuration for configuration in trials.effects().order() if configuration in left]
        left = {each for each in order if not trials.effects().is_significantly_worse(each, order[0], LEVEL)}
        if len(left) == 1:
            break
    return next(configuration for configuration in trials.effects().order() if configuration in left)
