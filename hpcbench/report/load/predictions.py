"""Predictions that were made before the sweeps of a report ran, as columns of their cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hpcbench.analysis.predicted.basis import PredictionBasis
from hpcbench.analysis.results import Results
from hpcbench.report.load.predicted_cases import predictions_by_sweep, with_predictions_of
from hpcbench.store.predictions import SweepPredictions
from hpcbench.store.sweep import Sweep


def with_predictions(results: Results, sweeps: Sequence[Sweep]) -> Results:
    """Return the results with the predictions of their cases, if any sweep has them."""
    known = predictions_by_sweep(sweeps)
    bases = [_basis(sweep, found) for sweep, found in known.items()]
    return replace(results, cases=with_predictions_of(results.cases, known), predictions=bases)


def _basis(sweep: str, found: SweepPredictions) -> PredictionBasis:
    under_load = [each.name for each in found.devices if each.peaks_under_load]
    return PredictionBasis(sweep, found.created_at, found.model, found.model_sha256, found.data_hash, under_load)
