"""The measured times of whole networks next to the sums of their operators: what the ratio is fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.networks.listed import targets
from hpcbench.predict.networks.listed.predicted import log_sums_and_design
from hpcbench.predict.networks.listed.ratio import SumRatio, fitted
from hpcbench.predict.tables.prediction import Floats


@dataclass(frozen=True)
class Observations:
    """One row per measured time: `rows` has its network, list, device, quantity, log(whole / sum), and spread."""

    rows: pd.DataFrame
    design: pd.DataFrame

    def ratio(self, keep: np.ndarray) -> SumRatio:
        """Return the ratio fitted on some of the rows."""
        kept = self.design[keep]
        return fitted(kept.loc[:, (kept != 0).any()], self.rows["log_ratio"].to_numpy()[keep])

    def errors(self, ratio: SumRatio, wanted: np.ndarray) -> Floats:
        """Return the errors of rows, as logarithms of measured over predicted."""
        found: Floats = self.rows["log_ratio"].to_numpy()[wanted] - ratio.log_ratio(self.design[wanted])
        return found


def observations(networks: pd.DataFrame, sums: pd.DataFrame, devices: Mapping[str, Device]) -> Observations:
    """Return the observations of the networks whose sums are known."""
    rows, designs = [], []
    for quantity, seconds in targets.measured(networks).items():
        log_sums, design = log_sums_and_design(networks, sums, quantity, devices)
        fit_on = targets.usable(seconds) & np.isfinite(log_sums)
        found = networks.loc[fit_on, ["device", "network", "list_id"]]
        rows.append(
            found.assign(
                quantity=quantity,
                log_ratio=np.log(seconds[fit_on]) - log_sums[fit_on],
                spread=sums["spread"].to_numpy()[fit_on],
            )
        )
        designs.append(design[fit_on])
    return Observations(
        pd.concat(rows, ignore_index=True),
        pd.concat(designs, ignore_index=True).fillna(0.0),
    )
