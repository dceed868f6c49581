"""Observations of single cases and machines, for the figures of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from hpcbench.analysis.cases.quantities import TIME
from hpcbench.core.machine_peaks import MachinePeaks
from hpcbench.core.validation.result import HeatMap


@dataclass(frozen=True)
class ValidationMaps:
    """Where the errors of a validated case are, and where its repeated calls differ, if they do."""

    case: str  # name
    ratio: float  # largest ratio of an error to its bound
    verdict: str
    reason: str | None
    error: HeatMap
    variance: HeatMap | None


@dataclass(frozen=True)
class Observations:
    """Measurements, interference, power, machine peaks; each may be empty. Times: s since the run's first measurement.

    Columns of `samples`: `run`, `at_s`, `time_s`; of `windows` (monitoring intervals with interference):
    `run`, `start_s`, `end_s`, `causes`; of `power`: `run`, `host`, `part`, `at_s`, `watts`; of `curves` (values that
    programs of the best cases logged): `case`, `name`, `step`, `value`.
    """

    case: str = ""  # name of the case of the measurements
    samples: pd.DataFrame = field(default_factory=pd.DataFrame)
    windows: pd.DataFrame = field(default_factory=pd.DataFrame)
    power: pd.DataFrame = field(default_factory=pd.DataFrame)
    curves: pd.DataFrame = field(default_factory=pd.DataFrame)
    peaks: Sequence[MachinePeaks] = ()
    validations: Sequence[ValidationMaps] = ()  # the largest ratio first
    title: str = TIME.title  # of the time of a measurement
