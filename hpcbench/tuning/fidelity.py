"""The length of a measurement: short ones eliminate bad configurations, good ones are measured in full."""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcbench.config.experiment import Measure

_SHORTEST_S = 0.3  # of sampling: less is dominated by momentary noise
_MIN_SAMPLES = 3


class Stage(Enum):
    """The length of a measurement, as a fraction of the sampling that the experiment defines."""

    SHORT = 1 / 9
    MEDIUM = 1 / 3
    FULL = 1.0

    @property
    def word(self) -> str:
        """Return the length as text after a result."""
        return {Stage.SHORT: "briefly", Stage.MEDIUM: "for longer", Stage.FULL: "as long as asked"}[self]

    def of(self, measure: Measure) -> Measure:
        """Return the experiment's `measure` section for one measurement at this stage."""
        if self is Stage.FULL:
            return measure
        most_s = min(measure.max_time_s, max(_SHORTEST_S, measure.max_time_s * self.value))
        changes = {
            "max_time_s": most_s,
            "min_time_s": min(measure.min_time_s, most_s),
            "max_warmup_s": measure.max_warmup_s * self.value,
            "min_measurements": min(
                measure.min_measurements, max(_MIN_SAMPLES, math.ceil(measure.min_measurements * self.value))
            ),
        }
        return measure.model_copy(update=changes)
