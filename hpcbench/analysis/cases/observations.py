"""Observations of single cases and machines, for the figures of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from hpcbench.core.machine_peaks import MachinePeaks


@dataclass(frozen=True)
class Observations:
    """The observations; each may be empty. Times are in seconds since the first sample of the repetition.

    Columns of `samples`: `repetition`, `at_s`, `time_s`; of `windows` with interference: `repetition`, `start_s`,
    `end_s`, `causes`; of `power`: `repetition`, `host`, `part`, `at_s`, `watts`.
    """

    case: str = ""  # whose samples these are, in words
    samples: pd.DataFrame = field(default_factory=pd.DataFrame)
    windows: pd.DataFrame = field(default_factory=pd.DataFrame)
    power: pd.DataFrame = field(default_factory=pd.DataFrame)
    peaks: Sequence[MachinePeaks] = ()
