"""Core voltage over clock: constant up to a knee, then linear up to the boost clock.

Below the knee, the voltage has reached the lowest value at which the device works, so that a lower clock saves less
energy than it costs time. Measured in J. Guerreiro et al., "GPGPU power modeling for multi-domain voltage-frequency
scaling", HPCA 2018, and in section 4 of S. Lee et al., "EnergAIzer", ISPASS 2026.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpcbench.predict.tables.prediction import Floats


@dataclass(frozen=True)
class Voltage:
    """The curve of one device: clock of the knee and lowest voltage, as fractions of those at the boost clock."""

    knee: float
    floor: float

    def relative(self, clock: Floats) -> Floats:
        """Return the voltage at clocks that are fractions of the boost clock, as a fraction of that at boost clock."""
        rise = (np.asarray(clock) - self.knee) / (1.0 - self.knee)
        return self.floor + (1.0 - self.floor) * np.maximum(rise, 0.0)


# The prior of devices without measurements at several clocks: rounded, near the curve of the public set with several
# clocks, which has the knee 0.72 and the floor 0.71.
TYPICAL = Voltage(knee=0.72, floor=0.76)
# The curves that a fit tries: a grid around the prior.
CURVES = tuple(Voltage(knee, floor) for knee in (0.60, 0.66, 0.72, 0.78) for floor in (0.66, 0.71, 0.76, 0.81))
