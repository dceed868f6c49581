"""Power from utilization: P = P_board sum of coefficients x terms.

    P / P_board = idle + V^2 (clock f + matrix u_m + vector u_v + attention u_a + on_chip u_r) + memory u_d

f and V are fractions of the boost clock and of the voltage at it, and u are utilizations: seconds of activity at peak
rates, divided by the time. V^2 f is the power of CMOS logic that switches (A. Chandrakasan et al., "Low-power CMOS
digital design", JSSC 27(4), 1992), and activities are switches: f cancels, except in the clock tree. Terms as in
S. Lee et al., "EnergAIzer", ISPASS 2026. In units of the board power, coefficients carry over between devices.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.predict.power.least_squares import relative
from hpcbench.predict.power.voltage import Voltage
from hpcbench.predict.tables.prediction import Floats

# Coefficients without any data, from the public sets that docs/reference/predictor-data.md documents, over devices.
PRIOR = np.array([0.16, 0.07, 1.7, 1.3, 1.1, 0.65, 0.38])
# Of the board power: rows above it may run at a lower clock than the boost clock. An assumption: a device at its limit
# draws 96 % of it on average in the public sets.
LIMITED = 0.93
_ROUNDS = 4  # of new choices of the limited rows that count


def terms(activity: pd.DataFrame, time_s: Floats, clock: Floats, voltage: Voltage) -> Floats:
    """Return the terms of each row, one column per coefficient, for these times and fractions of the boost clock."""

    def used(name: str) -> Floats:
        return activity[name].to_numpy(dtype="float64") / time_s

    squared = voltage.relative(clock) ** 2
    switching = (used("matrix_s"), used("vector_s"), used("attention_s"), used("row_wise_s"))
    columns = (np.ones(len(activity)), squared * clock, *(squared * each for each in switching), used("memory_s"))
    return np.column_stack(columns)


def fit(matrix: Floats, fraction: Floats, weights: Floats, prior: Floats, strength: float) -> Floats:
    """Return the coefficients for measured powers, which are fractions of the board power.

    A row at the power limit shows only that the device would draw at least that much at the boost clock. Such a row
    counts as long as the prediction is below it (a censored regression; J. Tobin, Econometrica 26, 1958).
    """
    limited = fraction > LIMITED
    used = np.ones(len(fraction), dtype=bool)
    found = prior
    for _ in range(_ROUNDS):
        found = relative(matrix[used], fraction[used], prior, strength, weights[used])
        used = ~(limited & (matrix @ found >= fraction))
    return found
