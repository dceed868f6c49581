"""Observations of single cases and machines, for the figures of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from hpcbench.core.machine_peaks import MachinePeaks


@dataclass(frozen=True)
class Observations:
    """Samples, interference, power, machine peaks; each may be empty. Times: s since the repetition's first sample.

    Columns of `samples`: `repetition`, `at_s`, `time_s`; of `windows` (monitoring intervals with interference):
    `repetition`, `start_s`, `end_s`, `causes`; of `power`: `repetition`, `host`, `part`, `at_s`, `watts`.
    """

    case: str = ""  # name of the case of the samples
    samples: pd.DataFrame = field(default_factory=pd.DataFrame)
    windows: pd.DataFrame = field(default_factory=pd.DataFrame)
    power: pd.DataFrame = field(default_factory=pd.DataFrame)
    peaks: Sequence[MachinePeaks] = ()
