"""A model of operators with the fits that did not see a device, or a group of shapes.

The times of whole networks are calibrated with these fits: an operator that a fit saw has a smaller error than one of a
new device or network.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.tables.prediction import Estimate
from hpcbench.predict.time.core import Core, with_few
from hpcbench.predict.time.prepared import Prepared
from hpcbench.predict.time.shapes import shape_fold

if TYPE_CHECKING:
    from hpcbench.predict.time.model import OperatorTime


@dataclass(frozen=True)
class LeftOut:
    """A model, fleets without each of its devices and without each fold of shapes, and rows of devices with few."""

    model: OperatorTime
    devices: Mapping[str, Core] = field(default_factory=dict)
    shapes: tuple[Core, ...] = ()
    few: Prepared | None = None

    def without(self, device: str) -> OperatorTime:
        """Return the model without the rows of a device; families that only this device has have the prior."""
        core = self.model.core
        own = {family for family, _, name in (key.partition("|") for key in self.model.rows) if name == device}
        few = {name: each for name, each in core.few.items() if name != device}
        if device in core.few or not own:
            return replace(self.model, core=replace(core, few=few))
        fleet = self.devices.get(device, Core.empty())
        others = {family: each for family, each in core.efficiencies.items() if family not in own}
        return replace(self.model, core=replace(fleet, efficiencies={**others, **fleet.efficiencies}, few=few))

    def estimate(self, operators: pd.DataFrame, devices: Mapping[str, Device], in_stream: bool = False) -> Estimate:
        """Return the time of each row as that of a new shape: from a model that did not see its fold."""
        if not self.shapes and self.few is None:
            return self.model.estimate(operators, devices, in_stream)
        fold = shape_fold(operators)
        value, spread = np.full(len(operators), np.nan), np.full(len(operators), np.nan)
        reason = np.full(len(operators), "", dtype=object)
        for place in np.unique(fold):
            of = fold == place
            found = self._without_shapes(int(place)).estimate(operators[of], devices, in_stream)
            value[of], spread[of], reason[of] = found.log_value, found.spread, found.reason
        return Estimate(value, spread, reason)

    def _without_shapes(self, place: int) -> OperatorTime:
        fleet = self.shapes[place] if self.shapes else Core.empty()
        if self.few is not None:
            fleet = with_few(fleet, self.few.select(shape_fold(self.few.rows) != place))
        return replace(self.model, core=fleet)
