"""The width of intervals that is typical of each kind of row, on devices in the data and on others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.sets.data_set import DataSet
from hpcbench.predict.tables.network_kinds import network_kinds
from hpcbench.predict.tables.operators import TARGETS

_ROWS = 100  # of each kind, at least, if it has so many
_UNSEEN = "a device like "  # begins the name of a device that differs from one in the data only by its name

Predictions = Callable[[DataSet], Mapping[str, pd.DataFrame]]  # by quantity, of all rows of one table


@dataclass(frozen=True)
class TypicalError:
    """The median interval of a quantity of a kind, as percent below and above the prediction.

    `seen` is for devices in the data, and `unseen` for devices that differ from them only by their names.
    """

    quantity: str
    kind: str
    seen: tuple[float, float]
    unseen: tuple[float, float]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TypicalError:
        """Return the error from the fields as JSON types."""
        return cls(data["quantity"], data["kind"], tuple(data["seen"]), tuple(data["unseen"]))


def typical_errors(data: DataSet, operators: Predictions, networks: Predictions) -> tuple[TypicalError, ...]:
    """Return the typical errors of predictions of the rows of a data set, by kind; kinds without answers are left out.

    Those of power and energy are left out if the data set has neither.
    `operators` and `networks` return the predictions of a data set's operators and networks.
    """
    found: list[TypicalError] = []
    sample = _sample(data)
    twin = _renamed(sample)
    quantities = TARGETS if _has_power(data) else TARGETS[:1]
    for kinds, predict in ((sample.operators["kind"], operators), (network_kinds(sample.networks), networks)):
        if kinds.empty:
            continue
        seen, unseen = predict(sample), predict(twin)
        for kind in sorted(set(kinds)):
            rows = (kinds == kind).to_numpy()
            for quantity in quantities:
                sides = _median_sides(seen[quantity][rows]), _median_sides(unseen[quantity][rows])
                if np.isfinite(sides).all():
                    found.append(TypicalError(quantity, str(kind), *sides))
    return tuple(found)


def _has_power(data: DataSet) -> bool:
    tables = (data.operators, data.networks)
    return any(bool(table[name].notna().any()) for table in tables for name in TARGETS[1:])


def _sample(data: DataSet) -> DataSet:
    """Return evenly spaced rows of each kind on devices with a description."""
    known = list(data.devices)
    operators = _spaced(data.operators, data.operators["kind"], known)
    return data.where(operators, _spaced(data.networks, network_kinds(data.networks), known))


def _spaced(table: pd.DataFrame, kinds: pd.Series, devices: list[str]) -> np.ndarray:
    described = table["device"].isin(devices)
    place = kinds[described].groupby(kinds[described]).cumcount()
    size = kinds[described].groupby(kinds[described]).transform("size")
    chosen = place % np.maximum(size // _ROWS, 1) == 0
    return chosen.reindex(table.index, fill_value=False).to_numpy(dtype=bool)


def _renamed(data: DataSet) -> DataSet:
    devices: dict[str, Device] = {
        _UNSEEN + name: replace(device, name=_UNSEEN + name, aliases=()) for name, device in data.devices.items()
    }
    return replace(
        data,
        operators=data.operators.assign(device=_UNSEEN + data.operators["device"]),
        networks=data.networks.assign(device=_UNSEEN + data.networks["device"]),
        devices=devices,
    )


def _median_sides(predicted: pd.DataFrame) -> tuple[float, float]:
    answered = predicted[predicted["predicted"].notna()]
    if answered.empty:
        return float("nan"), float("nan")
    below = 100 * (1 - answered["lower"] / answered["predicted"]).median()
    above = 100 * (answered["upper"] / answered["predicted"] - 1).median()
    return float(below), float(above)
