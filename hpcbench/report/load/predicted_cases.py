"""Load the predictions of sweeps, and join them with the table of their cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from hpcbench.analysis.predicted.columns import CLOCK, DEVICE, ENERGY, MEMORY, POWER, REASON, TIME, limits_of
from hpcbench.analysis.predicted.comparison import COLUMNS, KEY, NAMES, with_predicted
from hpcbench.store.predictions import CasePrediction, SweepPredictions, read_predictions
from hpcbench.store.sweep import Sweep
from hpcbench.util.console import print_warning


def predictions_by_sweep(sweeps: Sequence[Sweep]) -> dict[str, SweepPredictions]:
    """Return the predictions of those sweeps that have them. A file that cannot be read is left out, with a warning."""
    read = {sweep.paths.name: read_predictions(sweep.paths, print_warning) for sweep in sweeps}
    return {sweep: found for sweep, found in read.items() if found is not None}


def with_predictions_of(cases: pd.DataFrame, predictions: Mapping[str, SweepPredictions]) -> pd.DataFrame:
    """Return the cases with their predictions by sweep; the same cases without any."""
    if not predictions:
        return cases
    rows = [row for sweep, found in predictions.items() for row in _rows(sweep, found)]
    return with_predicted(cases, pd.DataFrame(rows, columns=list(COLUMNS)).drop_duplicates(KEY))


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
