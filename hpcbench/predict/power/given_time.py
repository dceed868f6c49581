"""Times of steps that the model of power takes from another model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.tables.prediction import Floats

LAUNCHES = "launches"  # column of predicted times


@dataclass(frozen=True)
class GivenTime:
    """Times of steps at the boost clock without a limit, as another model predicts or a user measures them.

    `half_width` is half the width of their 90 % intervals, as differences of logarithms. `launches` is the time in
    which the host launches the kernels of a step, as a multiple of the time of the device; NaN if unknown.
    """

    seconds: Floats
    half_width: Floats
    launches: Floats

    @classmethod
    def of(cls, time: pd.DataFrame) -> GivenTime:
        """Return predicted times, which are a table as of `tables.prediction`; its column LAUNCHES is optional."""
        predicted, upper = (time[name].to_numpy(dtype="float64") for name in ("predicted", "upper"))
        given = time.reindex(columns=[LAUNCHES])
        return cls(predicted, np.log(upper / predicted), given[LAUNCHES].to_numpy(dtype="float64"))

    def at(self, places: NDArray[np.integer[Any]]) -> GivenTime:
        """Return the times at some places."""
        return GivenTime(self.seconds[places], self.half_width[places], self.launches[places])
