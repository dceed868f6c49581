"""The scaling of a series in sentences: speedup over the base, useful number of processors, fitted laws."""

from __future__ import annotations

from typing import Any

import pandas as pd

from hpcbench.analysis.results import Results
from hpcbench.analysis.stats.intervals import Interval
from hpcbench.analysis.stats.ratio_text import in_brackets
from hpcbench.analysis.studies.scaling import Scaling, Series, series_of
from hpcbench.analysis.studies.scaling_laws import AMDAHL, GUSTAFSON, USL, Fit, peak

MIN_SIZES = 3  # numbers of processors; for two, the ranking is sufficient


def long_series(results: Results) -> list[Series]:
    """Return the series with at least MIN_SIZES numbers of processors."""
    return [each for each in series_of(results) if each.cases["processors"].nunique() >= MIN_SIZES]


def sentences(scaling: Scaling) -> list[str]:
    """Return sentences: `Strong scaling, 256 items per step: 9.2x [9.0, 9.4] on 32 CPUs over 1, ...`, then the laws."""
    laws = () if scaling.best["is_base"] else scaling.fits
    return [_measured(scaling), *(_fitted(each, scaling.unit) for each in laws)]


def _measured(scaling: Scaling) -> str:
    best, base = scaling.best, scaling.base
    names = ", ".join(filter(None, (scaling.work, scaling.series)))
    named = f" of {names}" if names else ""
    text = f"{scaling.kind.capitalize()} scaling{named}, {scaling.held}: "
    if best["is_base"]:
        return text + f"no larger number of {scaling.unit} is faster than {base['processors']:,}."
    gain = in_brackets(_interval(best, "speedup"))
    part = _percent(_interval(best, "efficiency"))
    most = int(scaling.points["processors"].max())
    text += f"{gain} on {_count(best, scaling)} over {base['processors']}, parallel efficiency {part}"
    if scaling.points["rate_low"].isna().any():
        return text + "; the limit is unknown (some cases have one run)."
    if scaling.pays_until < most:
        return text + f"; beyond {scaling.pays_until} {scaling.unit}, no number is significantly faster."
    if scaling.always_pays:
        return text + f"; each larger number is faster, up to the maximum of {most}."
    return text + f"; {most}, the maximum, is faster than all smaller numbers, but not every step is faster."


def _fitted(fit: Fit, unit: str) -> str:
    if fit.law in (AMDAHL, GUSTAFSON):
        return f"By {fit.law.name}, {_percent(fit.parameters['serial_fraction'])} of the work is serial."
    contention, coherency = (fit.parameters[name] for name in USL.parameters)
    text = f"By the {fit.law.name}, contention is {_percent(contention)} and coherency {_small(coherency)}"
    most = fit.interval(peak)
    if most.estimate == float("inf"):
        return f"{text}: no peak."
    return f"{text}: the peak is at {_whole(most)} {unit}."


def _count(point: pd.Series[Any], scaling: Scaling) -> str:
    return f"{point['processors']:,} {scaling.unit}"


def _interval(point: pd.Series[Any], name: str) -> Interval:
    low, high = (None if pd.isna(point[f"{name}_{end}"]) else float(point[f"{name}_{end}"]) for end in ("low", "high"))
    return Interval(float(point[name]), low, high)


def _percent(interval: Interval) -> str:
    """Return a fraction with its interval in percent: `29 % [28, 30]`."""
    estimate, low, high = (None if value is None else f"{100 * value:.3g}" for value in interval)
    return f"{estimate} %" if low is None else f"{estimate} % [{low}, {high}]"


def _small(interval: Interval) -> str:
    estimate, low, high = (None if value is None else f"{value:.2g}" for value in interval)
    return f"{estimate}" if low is None else f"{estimate} [{low}, {high}]"


def _whole(interval: Interval) -> str:
    estimate, low, high = (None if value is None else f"{value:,.0f}" for value in interval)
    return f"{estimate}" if low is None else f"{estimate} [{low}, {high}]"
