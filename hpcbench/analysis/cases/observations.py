"""What was seen of single cases and of machines, beside the tables: for the figures of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from hpcbench.core.machine_peaks import MachinePeaks


@dataclass(frozen=True)
class Observed:
    """All of it may be empty. `samples` have `repetition`, `at_s`, `time_s`; `windows`, in which others disturbed them,
    `repetition`, `start_s`, `end_s`, `causes`; `power` has `repetition`, `host`, `part`, `at_s`, `watts`. Times are in
    seconds since the first sample of the repetition."""

    case: str = ""  # whose samples these are, in words
    samples: pd.DataFrame = field(default_factory=pd.DataFrame)
    windows: pd.DataFrame = field(default_factory=pd.DataFrame)
    power: pd.DataFrame = field(default_factory=pd.DataFrame)
    peaks: Sequence[MachinePeaks] = ()
