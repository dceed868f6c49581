"""From the settings of an experiment to the best of them: drop the bad, try the good, confirm the best."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from hpcbench.analysis.stats.intervals import LEVEL
from hpcbench.tuning.ask_tell import Notebook, Search
from hpcbench.tuning.block_model import Effects
from hpcbench.tuning.fidelity import Stage
from hpcbench.tuning.paired_comparison import FEWEST, Verdict, duel
from hpcbench.tuning.successive_halving import halve

FINALISTS = 3
FINALS = 2  # times that each finalist is measured as the experiment asks
DUEL = 0.045  # of the full grid, for each of two


class Scout(Protocol):
    """What chooses settings to look at where there are too many to measure all."""

    def look(self, notebook: Notebook, default: int) -> Search[None]:
        """Measure some briefly."""


@dataclass(frozen=True)
class Found:
    """`best` is what to use: the default, unless another one is certainly better. `winner` is what seemed best."""

    best: int
    winner: int
    verdict: Verdict | None  # of the winner against the default; None where they are one
    effects: Effects


def search(
    notebook: Notebook, settings: Collection[int], default: int, repetitions: int, scout: Scout | None = None
) -> Search[Found | None]:
    """The best of these settings, which hold the default; None where every one failed. Where all finalists fail, when
    they are measured for longer, the best of the others are the next.

    With a scout, only what it looked at is compared. `repetitions` are those of a setting in the full grid.
    """
    if scout is None:
        yield from notebook.measure(settings, Stage.SHORT)
    else:
        yield from scout.look(notebook, default)
    while notebook.settings:
        finalists = yield from halve(notebook, notebook.settings, FINALISTS)
        winner = yield from _final(notebook, finalists)
        if winner is None:
            continue
        if winner == default:
            effects = notebook.effects()  # before, for one more failure shall not make it unknown
            yield from _known(notebook, default)
            return Found(winner, winner, None, effects)
        notebook.failed.discard(default)  # to fail once may be chance, and what takes its place is recommended
        verdict = yield from duel(notebook, winner, default, most_pairs(len(settings), repetitions))
        best = winner if verdict.certain else default
        if best in notebook.settings:  # not where both have failed
            return Found(best, winner, verdict, notebook.effects())
    return None


def _known(notebook: Notebook, setting: int) -> Search[None]:
    """Measure it as the experiment asks until its median has an interval."""
    for _ in range(FEWEST - notebook.times(setting, Stage.FULL)):
        yield from notebook.measure([setting], Stage.FULL)


def most_pairs(settings: int, repetitions: int) -> int:
    """Of a duel: as many as the experiment has repetitions; where the full grid is large, up to three times as many, as
    far as that is so small a part of it for each of both that the whole search stays below a quarter of it."""
    return max(repetitions, min(3 * repetitions, int(DUEL * settings * repetitions)))


def _final(notebook: Notebook, finalists: Collection[int]) -> Search[int | None]:
    """The best of the finalists, each measured as the experiment asks."""
    left = set(finalists)
    for _ in range(FINALS):
        yield from notebook.measure(left, Stage.FULL)
        left -= notebook.failed
        if not left:
            return None
        order = [setting for setting in notebook.effects().order() if setting in left]
        left = {each for each in order if not notebook.effects().is_surely_worse(each, order[0], LEVEL)}
        if len(left) == 1:
            break
    return next(setting for setting in notebook.effects().order() if setting in left)
