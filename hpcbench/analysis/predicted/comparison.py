"""The table of cases with predictions next to measured values.

The measured value of a case is its median. It is compared with the 90 % prediction interval of one case, so that about
one case in ten is outside even if the models are correct.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hpcbench.analysis.predicted.columns import (
    ABOVE,
    BELOW,
    CLOCK,
    DEVICE,
    ENERGY,
    INSIDE,
    MEMORY,
    OTHER_DEVICE,
    POWER,
    QUANTITIES,
    REASON,
    TIME,
    Predicted,
    limits_of,
)
from hpcbench.config.devices.reported_names import plain

NAMES = "device_names"  # column: all names of the predicted device
KEY = ["sweep", "case"]
_ESTIMATES = [name for each in (*(each.column for each in QUANTITIES), MEMORY) for name in (each, *limits_of(each))]
COLUMNS = (*KEY, DEVICE, NAMES, CLOCK, *_ESTIMATES, REASON)
_MODEL = {"gpu": "gpu_model", "cpu": "cpu_model"}  # column of the measured device, by device of the case
_SEPARATOR = "; "  # between several models


def with_predicted(cases: pd.DataFrame, predictions: pd.DataFrame) -> pd.DataFrame:
    """Return the cases with their predictions, and the comparison of each quantity with its measured value.

    `predictions` has the COLUMNS, with one row per sweep and case. Cases without a row have empty values. Columns
    without any value are left out, except those of the time. Measured power and energy per step are those of the CPUs
    or of the GPU that compute the case.
    """
    joined = cases[KEY].merge(predictions[list(COLUMNS)], how="left", on=KEY).set_axis(cases.index)
    numbers = {name: _numbers(joined[name]) for name in (CLOCK, *_ESTIMATES)}
    found = joined[[DEVICE, REASON]].assign(**numbers, **_measured_energy(cases))
    others = [_is_other(*each) for each in zip(joined[NAMES], _models(cases), strict=True)]
    known = cases.assign(**{POWER.measured: found[POWER.measured], ENERGY.measured: found[ENERGY.measured]})
    for quantity in QUANTITIES:
        measured = pd.Series(_numbers(known[quantity.measured]), index=cases.index)
        found[quantity.ratio] = measured / found[quantity.column]
        found[quantity.verdict] = _verdicts(measured, found, quantity, others)
    always = (DEVICE, TIME.column, *TIME.limits, TIME.ratio, TIME.verdict)
    kept = [name for name in _order() if found[name].notna().any() or name in always]
    return cases.assign(**{name: found[name] for name in kept})


def _order() -> list[str]:
    """Return all columns in the order of tables."""
    names = [DEVICE, CLOCK]
    for each in QUANTITIES:
        own = [] if each == TIME else [each.measured]
        names += [each.column, *each.limits, *own, each.ratio, each.verdict]
    return [*names, MEMORY, *limits_of(MEMORY), REASON]


def _measured_energy(cases: pd.DataFrame) -> dict[str, Any]:
    """Return the measured energy of a step in J, and the mean power in W, of the devices that compute the cases."""
    per_item = np.full(len(cases), np.nan)
    for device, column in (("gpu", "energy_gpu_j_per_item"), ("cpu", "energy_cpu_j_per_item")):
        if column in cases:
            per_item = np.where(cases["device"] == device, _numbers(cases[column]), per_item)
    energy = per_item * _numbers(cases["items_per_step"])
    return {ENERGY.measured: energy, POWER.measured: energy / _numbers(cases[TIME.measured])}


def _numbers(values: pd.Series[Any]) -> np.ndarray:
    return pd.to_numeric(values, errors="coerce").to_numpy(dtype="float64", na_value=np.nan)


def _models(cases: pd.DataFrame) -> list[Any]:
    """Return the model of the device that computed each case; missing if it is unknown."""
    columns = {device: cases[name].tolist() for device, name in _MODEL.items() if name in cases}
    return [columns[device][place] if device in columns else None for place, device in enumerate(cases["device"])]


def _is_other(names: Any, models: Any) -> bool:
    """Return whether no measured model is among the names of the predicted device; False if either is unknown."""
    if not isinstance(names, tuple | list) or not names or not isinstance(models, str):
        return False
    known = {plain(name) for name in names}
    return known.isdisjoint(map(plain, models.split(_SEPARATOR)))


def _verdicts(
    measured: pd.Series[float], found: pd.DataFrame, quantity: Predicted, others: list[bool]
) -> pd.Series[Any]:
    low, high = (found[name] for name in quantity.limits)
    verdicts = pd.Series(INSIDE, index=found.index, dtype=object)
    verdicts = verdicts.mask(measured > high, ABOVE).mask(measured < low, BELOW)
    verdicts = verdicts.mask(pd.Series(others, index=found.index), OTHER_DEVICE)
    return verdicts.where(measured.notna() & low.notna() & high.notna(), None)
