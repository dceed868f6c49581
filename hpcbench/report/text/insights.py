"""What makes the difference, in sentences: processors, parameters that explain the variation, rules of thumb."""

from __future__ import annotations

from hpcbench.analysis.results import Results
from hpcbench.analysis.studies.guidelines import mine
from hpcbench.analysis.studies.importance import importance
from hpcbench.analysis.studies.scaling import scaling
from hpcbench.report.text import scaling_sentences
from hpcbench.report.text.importance_sentences import sentences

FEWEST_FACTORS = 2  # of one, the ranking says all
MOST_SERIES = 2


def insights(results: Results) -> list[str]:
    """How the series with the best cases scale; then factors, the strongest first, and guidelines."""
    return [*_of_scaling(results), *_of_factors_and_guidelines(results)]


def _of_scaling(results: Results) -> list[str]:
    long = scaling_sentences.long_series(results)[:MOST_SERIES]
    return [" ".join(scaling_sentences.sentences(scaling(each, results.replicates))) for each in long]


def _of_factors_and_guidelines(results: Results) -> list[str]:
    """Nothing where one thing varies."""
    names = [name for name in results.shown if name != "sweep"]
    if len(names) < FEWEST_FACTORS or not results.works:
        return []
    return [*_of_factors(results, names), *(guideline.sentence for guideline in mine(results.cases))]


def _of_factors(results: Results, names: list[str]) -> list[str]:
    if results.cases["repetitions"].max() < 2:  # nothing tells what noise is
        return []
    found = importance(results.cases, results.repetitions, names)
    return [] if found.reason else sentences(found)
