"""Load the predictions that were made before the sweeps of a report ran, as columns of their cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from hpcbench.analysis.predicted.basis import PredictionBasis
from hpcbench.analysis.predicted.columns import CLOCK, DEVICE, ENERGY, MEMORY, POWER, REASON, TIME, limits_of
from hpcbench.analysis.predicted.comparison import COLUMNS, NAMES, with_predicted
from hpcbench.analysis.results import Results
from hpcbench.store.predictions import CasePrediction, SweepPredictions, read_predictions
from hpcbench.store.sweep import Sweep
from hpcbench.util.console import print_warning


def with_predictions(results: Results, sweeps: Sequence[Sweep]) -> Results:
    """Return the results with the predictions of their cases, if any sweep has them.

    Files that cannot be read are left out, with a warning.
    """
    read = {sweep.paths.name: read_predictions(sweep.paths, print_warning) for sweep in sweeps}
    known = {sweep: found for sweep, found in read.items() if found is not None}
    if not known:
        return results
    table = pd.DataFrame([row for sweep, found in known.items() for row in _rows(sweep, found)], columns=list(COLUMNS))
    return replace(
        results,
        cases=with_predicted(results.cases, table.drop_duplicates(["sweep", "case"])),
        predictions=[_basis(sweep, found) for sweep, found in known.items()],
    )


def _basis(sweep: str, found: SweepPredictions) -> PredictionBasis:
    return PredictionBasis(sweep, found.created_at, found.model, found.model_sha256, found.data_hash)


def _rows(sweep: str, found: SweepPredictions) -> Iterator[dict[str, Any]]:
    devices = {device.name: device for device in found.devices}
    for case in found.cases:
        device = devices.get(case.device or "")
        yield {
            "sweep": sweep,
            "case": case.case,
            DEVICE: case.device,
            NAMES: list(device.names) if device else [],
            CLOCK: device.clock_mhz if device else None,
            REASON: case.reason,
            **_estimates(case),
        }


def _estimates(case: CasePrediction) -> dict[str, float | None]:
    """Return the estimates of a case with their limits, by column."""
    estimates = {
        TIME.column: case.time_s,
        POWER.column: case.power_w,
        ENERGY.column: case.energy_j,
        MEMORY: case.memory_bytes,
    }
    values: dict[str, float | None] = {}
    for column, estimate in estimates.items():
        numbers = (None, None, None) if estimate is None else (estimate.value, estimate.low, estimate.high)
        values.update(zip((column, *limits_of(column)), numbers, strict=True))
    return values
