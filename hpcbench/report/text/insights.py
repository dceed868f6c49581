"""Insights in sentences: scaling, importance of parameters, guidelines."""

from __future__ import annotations

from hpcbench.analysis.results import Results
from hpcbench.analysis.studies.guidelines import mine
from hpcbench.analysis.studies.importance import importance
from hpcbench.analysis.studies.scaling import scaling
from hpcbench.report.text import scaling_sentences
from hpcbench.report.text.importance_sentences import sentences

MIN_FACTORS = 2  # with one, the ranking is sufficient
MAX_SERIES = 2


def insights(results: Results) -> list[str]:
    """Return sentences on the scaling of the best series, then on factors, strongest first, and guidelines."""
    return [*_of_scaling(results), *_of_factors_and_guidelines(results)]


def _of_scaling(results: Results) -> list[str]:
    long = scaling_sentences.long_series(results)[:MAX_SERIES]
    return [" ".join(scaling_sentences.sentences(scaling(each, results.replicates))) for each in long]


def _of_factors_and_guidelines(results: Results) -> list[str]:
    """Return sentences on factors and guidelines; none if fewer than MIN_FACTORS columns vary."""
    names = [name for name in results.shown if name != "sweep"]
    if len(names) < MIN_FACTORS or not results.workloads:
        return []
    return [*_of_factors(results, names), *(guideline.sentence for guideline in mine(results.cases))]


def _of_factors(results: Results, names: list[str]) -> list[str]:
    if results.cases["repetitions"].max() < 2:  # the noise is unknown
        return []
    found = importance(results.cases, results.repetitions, names)
    return [] if found.reason else sentences(found)
