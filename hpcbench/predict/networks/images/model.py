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
from hpcbench.predict.networks.images.core import ImageCore, fit_core, groups, measured_modes, prior_core
from hpcbench.predict.networks.images.intervals import Intervals, fit_intervals, prior_intervals
from hpcbench.predict.networks.images.prepared import PreparedImages, prepare
from hpcbench.predict.networks.images.spent import Spent, spent
from hpcbench.predict.operators.states import lowered
from hpcbench.predict.tables.prediction import Floats
from hpcbench.predict.tables.prediction import table as prediction_table

_FEWEST = 30  # rows of a kind of device for a fit
SAME_MODE, OTHER_MODE, NOT_MEASURED, REFUSED = "same mode", "other mode", "not measured", "refused"


@dataclass(frozen=True)
class ImageNetworks:
    """Fitted cores and intervals by kind of device, and the number of fitted rows by group of `core.groups`.

    `modes` are those of the fitted rows, as of `core.measured_modes`.
    """

    cores: Mapping[str, ImageCore]
    intervals: Mapping[str, Intervals]
    rows: Mapping[str, int]
    modes: frozenset[str]
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

    def measured(self, networks: pd.DataFrame, devices: Mapping[str, Device]) -> NDArray[np.object_]:
        """Return which image networks were measured on the kind of device of each row.

        The values are SAME_MODE, OTHER_MODE for networks in other execution modes alone, NOT_MEASURED, and REFUSED for
        rows that cannot be predicted.
        """
        asked, reason = prepare(networks, self.catalog, devices)
        kinds = {each.split("|")[0] for each in self.modes}
        same = measured_modes(asked.rows, asked.kind).isin(list(self.modes)).to_numpy()
        other = np.where(np.isin(asked.kind, list(kinds)), OTHER_MODE, NOT_MEASURED)
        found = np.full(len(reason), REFUSED, dtype=object)
        found[reason == ""] = np.where(same, SAME_MODE, other)
        return found

    def spent(self, networks: pd.DataFrame, devices: Mapping[str, Device]) -> Spent:
        """Return what the time of each row is spent on."""
        asked, reason = prepare(networks, self.catalog, devices)
        found = Spent.unknown(len(reason))
        places = np.flatnonzero(reason == "")
        for kind, core in self.cores.items():
            mask = asked.kind == kind
            if mask.any():
                own, at = spent(core, asked.select(mask)), places[mask]
                found.launches[at], found.compute[at] = own.launches, own.compute
                found.shares.loc[at] = own.shares.set_axis(at)
        return found

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
            "modes": sorted(self.modes),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], catalog: Catalog | None = None) -> ImageNetworks:
        """Return the model that `to_json` described, with the shipped catalog unless another is given."""
        return cls(
            {kind: ImageCore.from_json(core) for kind, core in data["cores"].items()},
            {kind: Intervals.from_json(each) for kind, each in data["intervals"].items()},
            data["rows"],
            frozenset(data["modes"]),
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
    modes = frozenset(measured_modes(fitted.rows, fitted.kind))
    return ImageNetworks(cores, intervals, rows_by_group, modes, catalog)
