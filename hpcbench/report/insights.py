"""What makes the difference, in sentences: which parameter explains the variation, and rules of thumb."""

from __future__ import annotations

from hpcbench.analysis.guidelines import mine
from hpcbench.analysis.importance import importance
from hpcbench.analysis.importance_sentences import sentences
from hpcbench.analysis.results import Results

FEWEST_FACTORS = 2  # of one, the ranking says all


def insights(results: Results) -> list[str]:
    """The strongest first; nothing where one thing varies."""
    names = [name for name in results.shown if name != "sweep"]
    if len(names) < FEWEST_FACTORS or not results.works:
        return []
    return [*_of_factors(results, names), *(guideline.sentence for guideline in mine(results.cases))]


def _of_factors(results: Results, names: list[str]) -> list[str]:
    if results.cases["repetitions"].max() < 2:  # nothing tells what noise is
        return []
    found = importance(results.cases, results.repetitions, names)
    return [] if found.reason else sentences(found)
