"""Predictions without a fit: twice the measurement, or a refusal."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from hpcbench.predict.tables import networks, operators


class FakeFleet:
    """Predict twice what was measured, and refuse devices without a description."""

    def predict_operators(self, table: pd.DataFrame, devices: Mapping[str, object]) -> dict[str, pd.DataFrame]:
        return {name: _doubled(table, name, devices) for name in operators.TARGETS}

    def predict_networks(
        self, table: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, object]
    ) -> dict[str, pd.DataFrame]:
        return {name: _doubled(table, name, devices) for name in networks.TARGETS}


def _doubled(table: pd.DataFrame, name: str, devices: Mapping[str, object]) -> pd.DataFrame:
    values = (2 * table[name]).where(table["device"].isin(list(devices)))
    found = pd.DataFrame({"predicted": values, "lower": values / 4, "upper": 4 * values}, index=table.index)
    return found.assign(reason=["" if each == each else "no value" for each in values])
