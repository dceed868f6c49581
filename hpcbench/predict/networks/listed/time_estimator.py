"""What sums over lists require of a model of operators: an estimate of the time of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.tables.prediction import Estimate


class TimeEstimator(Protocol):
    """A model of the time of operators."""

    def estimate(self, operators: pd.DataFrame, devices: Mapping[str, Device], in_stream: bool) -> Estimate:
        """Return the logarithms of the times in seconds; with `in_stream`, without the cost of launches."""


class LeftOutEstimator(TimeEstimator, Protocol):
    """Models that did not see what they are asked for: an operator that is estimated is one of a new network."""

    @property
    def model(self) -> TimeEstimator:
        """Return the model that saw everything."""

    def without(self, device: str) -> TimeEstimator:
        """Return a model that did not see a device."""
