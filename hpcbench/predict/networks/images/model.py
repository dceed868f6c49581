"""The time of image networks that are known by name, on devices with or without measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.choice.ratios import PRIOR_OF_RATIOS, RatioErrors
from hpcbench.predict.devices.device import CPU, GPU, Device
from hpcbench.predict.networks.catalog.catalog import Catalog, shipped_catalog
from hpcbench.predict.networks.images.core import ImageCore, fit_core, groups, measured_conditions, prior_core
from hpcbench.predict.networks.images.intervals import Intervals, fit_intervals, prior_intervals
from hpcbench.predict.networks.images.prepared import PreparedImages, prepare
from hpcbench.predict.operators.states import lowered
from hpcbench.predict.tables.prediction import Floats
from hpcbench.predict.tables.prediction import table as prediction_table

_FEWEST = 30  # rows of a kind of device for a fit


@dataclass(frozen=True)
class ImageNetworks:
    """Fitted cores and intervals by kind of device, and the number of fitted rows by group of `core.groups`.

    `conditions` are those of the fitted rows, as of `core.measured_conditions`.
    """

    cores: Mapping[str, ImageCore]
    intervals: Mapping[str, Intervals]
    rows: Mapping[str, int]
    conditions: frozenset[str]
    catalog: Catalog

    def predict(self, networks: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
        """Return the seconds of one step of each row of a table of networks, on the device that it names.

        The table has the columns `prediction.COLUMNS`: intervals, reasons of refusals, and what a row is based on.
        """
        asked, reason = prepare(networks, self.catalog, devices)
        log_value, half = self._estimated(asked, reason)
        rows = np.zeros(len(networks), dtype="int64")
        rows[reason == ""] = groups(asked.rows).map(self.rows).fillna(0).to_numpy(dtype="int64")
        measured = {name.rsplit("|", 2)[0] for name in self.rows}
        basis = np.where(rows > 0, rows, sum(self.rows.values()))
        table = prediction_table(log_value, half, reason)
        return table.assign(basis_rows=basis, basis_devices=len(measured), distance=np.nan)

    def knows(self, networks: pd.DataFrame, devices: Mapping[str, Device]) -> NDArray[np.bool_]:
        """Return which rows can be predicted, and have conditions that were measured on their kind of device.

        Examples of such conditions are training in half precision, or compiled execution.
        """
        asked, reason = prepare(networks, self.catalog, devices)
        found = reason == ""
        found[found] = measured_conditions(asked.rows, asked.kind).isin(list(self.conditions)).to_numpy()
        return np.asarray(found, dtype=bool)

    def ratio_errors(self, devices: Iterable[Device]) -> RatioErrors:
        """Return the errors of ratios of the times of two of the devices: the largest of their kinds."""
        kinds = {each.kind for each in devices} & set(self.intervals)
        return max(
            (self.intervals[each].ratios for each in kinds), key=lambda each: each.factor, default=PRIOR_OF_RATIOS
        )

    def _estimated(self, asked: PreparedImages, reason: NDArray[np.object_]) -> tuple[Floats, Floats]:
        """Return logarithms of times and half the widths of their intervals, one value per reason; NaN if refused."""
        log_value, half = np.full(len(reason), np.nan), np.full(len(reason), np.nan)
        places = np.flatnonzero(reason == "")
        for kind, core in self.cores.items():
            mask = asked.kind == kind
            if mask.any():
                rows = asked.select(mask)
                log_value[places[mask]], _, found = core.log_times(rows)
                half[places[mask]] = self.intervals[kind].half_width(rows, found, self._seen(rows))
        return log_value, half

    def _seen(self, rows: PreparedImages) -> NDArray[np.bool_]:
        return groups(rows.rows).isin(list(self.rows)).to_numpy()

    def to_json(self) -> dict[str, Any]:
        """Return the model as a dict of JSON types, without the catalog."""
        return {
            "cores": {kind: core.to_json() for kind, core in self.cores.items()},
            "intervals": {kind: each.to_json() for kind, each in self.intervals.items()},
            "rows": dict(self.rows),
            "conditions": sorted(self.conditions),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], catalog: Catalog | None = None) -> ImageNetworks:
        """Return the model that `to_json` described, with the shipped catalog unless another is given."""
        return cls(
            {kind: ImageCore.from_json(core) for kind, core in data["cores"].items()},
            {kind: Intervals.from_json(each) for kind, each in data["intervals"].items()},
            data["rows"],
            frozenset(data["conditions"]),
            catalog or shipped_catalog(),
        )


def fit(networks: pd.DataFrame, catalog: Catalog, devices: Mapping[str, Device]) -> ImageNetworks:
    """Return the model of a table of networks with times in seconds per step.

    Rows that cannot be used, or that were measured at a lower clock or power limit, do not count. Nor do those of a
    kind of device with too few rows, which has the prior, with wide intervals.
    """
    timed = networks[networks["time_s"] > 0]
    usable, _ = prepare(timed[~lowered(timed, devices)], catalog, devices)
    counts = pd.Series(usable.kind, dtype="object").value_counts()
    fitted = usable.select(np.isin(usable.kind, list(counts.index[counts >= _FEWEST])))
    cores, intervals = {}, {}
    for kind in (GPU, CPU):
        rows = fitted.select(fitted.kind == kind)
        enough = len(rows.rows) > 0
        cores[kind] = fit_core(kind, rows) if enough else prior_core(kind)
        intervals[kind] = fit_intervals(kind, rows) if enough else prior_intervals()
    rows_by_group = {str(name): int(count) for name, count in groups(fitted.rows).value_counts().items()}
    conditions = frozenset(measured_conditions(fitted.rows, fitted.kind))
    return ImageNetworks(cores, intervals, rows_by_group, conditions, catalog)
