"""Insights in sentences: scaling, importance of parameters, guidelines."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from hpcbench.analysis.cases.quantities import SPEEDUP, THROUGHPUT
from hpcbench.analysis.results import Results
from hpcbench.analysis.studies.guidelines import mine
from hpcbench.analysis.studies.importance import Importance, importance
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
    factors = [sentence for found in importances(results) if not found.reason for sentence in sentences(found)]
    return [*factors, *(guideline.sentence for guideline in mine(results.cases))]


def importances(results: Results) -> Iterator[Importance]:
    """Yield the importance of parameters for each quantity that ranks workloads, in the order of the ranking.

    The sweep counts as a parameter, so that a difference between sweeps is not attributed to another parameter.
    """
    if results.cases["runs"].max() < 2:  # the noise is unknown
        return
    # Speedups over different bases have no common scale.
    ranked = [(work.cases, results.ranked_by(work)) for work in results.workloads]
    common = [(cases, THROUGHPUT if quantity == SPEEDUP else quantity) for cases, quantity in ranked]
    known = [(cases, quantity) for cases, quantity in common if cases[quantity.column].notna().any()]
    for quantity in dict.fromkeys(quantity for _, quantity in known):
        cases = [alike for alike, own in known if own == quantity]
        yield importance(pd.concat(cases), results.repetitions, results.shown, quantity)
