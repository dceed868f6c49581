"""Sentences on predicted and measured values: how many are inside their intervals, and which are outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.analysis.predicted.causes import differences
from hpcbench.analysis.predicted.columns import (
    ABOVE,
    BELOW,
    DEVICE,
    INSIDE,
    OTHER_DEVICE,
    QUANTITIES,
    REASON,
    TIME,
    Predicted,
)
from hpcbench.analysis.results import Results
from hpcbench.analysis.stats.ratio_text import times
from hpcbench.core.samples import INTERFERENCE
from hpcbench.predict.devices.device import PEAKS_UNDER_LOAD
from hpcbench.report.text.numbers import between, formatter
from hpcbench.util.text import in_short_list, plural

MAX_OUTSIDE, MAX_REASONS = 5, 3
_COMPARED = (INSIDE, ABOVE, BELOW)
_ON_CPU = "another clock, another library or kernel, the placement of threads, or a model without similar measurements"
_ON_GPU = "another clock or power limit, another library or kernel, or a model without similar measurements"


def prediction_notes(results: Results) -> Iterator[str]:
    """Yield the sentences on predictions, if any sweep of the report has them."""
    if not results.predictions:
        return
    devices = list(map(str, results.cases[DEVICE].dropna().unique())) if DEVICE in results.cases else []
    where = f" for {in_short_list(devices)}" if devices else ""
    for model in dict.fromkeys(each.model for each in results.predictions):
        yield f"Predictions{where} were made before the measurements. {model}."
    for device in dict.fromkeys(name for each in results.predictions for name in each.devices_under_load):
        yield f"{device}: {PEAKS_UNDER_LOAD}"
    yield from summaries(results)
    yield from _outside(results)
    yield from _other_devices(results)
    yield from _not_predicted(results)


def summaries(results: Results) -> Iterator[str]:
    """Yield for each quantity how many measured values are inside their interval, and the typical deviation."""
    for quantity in QUANTITIES:
        compared = _with_verdict(results.cases, quantity, *_COMPARED)
        if compared.empty:
            continue
        inside = int((compared[quantity.verdict] == INSIDE).sum())
        factor = float(np.exp(_distances(compared, quantity).median()))
        where = f"{inside:,} of {plural(len(compared), 'case')}"
        yield (
            f"The measured {quantity.title} is inside its 90 % PI in {where}. "
            f"The median factor between measured and predicted values is {times(factor)}."
        )


def _with_verdict(cases: pd.DataFrame, quantity: Predicted, *verdicts: str) -> pd.DataFrame:
    """Return the cases with one of these verdicts."""
    return cases[cases[quantity.verdict].isin(verdicts)] if quantity.verdict in cases else cases.iloc[:0]


def _outside(results: Results) -> Iterator[str]:
    """Yield the values outside their interval, the largest deviation first, and what may be the cause."""
    found = [
        (quantity, case)
        for quantity in QUANTITIES
        for _, case in _by_deviation(_with_verdict(results.cases, quantity, ABOVE, BELOW), quantity).iterrows()
    ]
    for quantity, case in found[:MAX_OUTSIDE]:
        yield f"Outside the 90 % PI: {deviation(results, case, quantity)}."
    if len(found) > MAX_OUTSIDE:
        yield f"... and {plural(len(found) - MAX_OUTSIDE, 'more value')} outside: --csv or --html FILE"
    yield from _with_interference(case for _, case in found)
    unexplained = {case["device"] for _, case in found if not any(differences(case.to_dict()))}
    for device, causes in (("cpu", _ON_CPU), ("gpu", _ON_GPU)):
        if device in unexplained:
            yield f"Possible causes that records do not show: {causes}."


def _with_interference(cases: Iterable[pd.Series[Any]]) -> Iterator[str]:
    """Yield how to measure the cases again whose runs all had interference."""
    sweeps = dict.fromkeys(case["sweep"] for case in cases if case["interference"] == INTERFERENCE)
    if sweeps:
        again = ", ".join(f"hpcbench resume {sweep} --interference" for sweep in sweeps)
        yield f"Measure the cases with interference again: {again}"


def _by_deviation(cases: pd.DataFrame, quantity: Predicted) -> pd.DataFrame:
    """Return the cases by the factor between measured and predicted value, the largest first."""
    return (
        cases.loc[_distances(cases, quantity).sort_values(ascending=False, kind="stable").index]
        if len(cases)
        else cases
    )


def _distances(cases: pd.DataFrame, quantity: Predicted) -> pd.Series[float]:
    """Return the logarithms of the factors between measured and predicted values."""
    return pd.Series(np.abs(np.log(cases[quantity.ratio].to_numpy(dtype="float64"))), index=cases.index)


def deviation(results: Results, case: pd.Series[Any], quantity: Predicted) -> str:
    """Return `batch_size=64: step time 1.84x the prediction, 4.1 ms (90 % PI 1.5 ms - 3 ms); 4 threads on 2 cores`."""
    written = written_as(quantity)
    name = f"{results.full_label(case)}: " if len(results.cases) > 1 else ""
    low, high = (case[name] for name in quantity.limits)
    ratio = f"{quantity.title} {times(case[quantity.ratio])} the prediction"
    known = "".join(f"; {each}" for each in differences(case.to_dict()))
    return f"{name}{ratio}, {written(case[quantity.measured])} (90 % PI {between(low, high, written)}){known}"


def written_as(quantity: Predicted) -> Callable[[float], str]:
    """Return the function that formats values of a quantity with their unit."""
    plain = formatter(Quantity(quantity.column, quantity.title, quantity.unit))
    return plain if quantity == TIME else lambda value: f"{plain(value)} {quantity.unit}"


def _other_devices(results: Results) -> Iterator[str]:
    others = _with_verdict(results.cases, TIME, OTHER_DEVICE)
    for device, cases in others.groupby(DEVICE, sort=False):
        models = cases["gpu_model"].where(cases["device"] == "gpu", cases["cpu_model"]).dropna().unique()
        counted = plural(len(cases), "case")
        yield f"Not compared: {counted} predicted on {device}, but measured on {', '.join(models)}."


def _not_predicted(results: Results) -> Iterator[str]:
    if REASON not in results.cases:
        return
    lacking = results.cases[results.cases[REASON].notna() & results.cases[TIME.column].isna()]
    reasons = lacking[REASON].value_counts(sort=True)
    for reason, count in list(reasons.items())[:MAX_REASONS]:
        yield f"Not predicted: {plural(int(count), 'case')}: {reason}"
    if len(reasons) > MAX_REASONS:
        yield f"... and {plural(len(reasons) - MAX_REASONS, 'more reason')}: column {REASON} of --csv"
