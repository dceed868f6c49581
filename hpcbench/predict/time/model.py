"""The time of operators on devices, with or without measurements of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.calibration import stored
from hpcbench.predict.calibration.intervals import OF_VENDORS, Calibration, new_draw
from hpcbench.predict.devices.device import Device
from hpcbench.predict.tables.prediction import Estimate, Floats
from hpcbench.predict.tables.prediction import table as prediction_table
from hpcbench.predict.time.core import Core
from hpcbench.predict.time.hull import Hull
from hpcbench.predict.time.prepared import Prepared, prepare
from hpcbench.predict.time.priors import CALIBRATION, IN_NETWORK
from hpcbench.predict.time.usable import reasons

# Assumptions: the public sets have too few devices to show how errors grow out of their range.
_SEEN = 50  # rows of a device in a family from which on it counts as measured
_FARTHEST = 3.0  # standard deviations; beyond, the spread grows no more
_WIDER = 0.3  # relative growth of the spread for each standard deviation out of the hull


@dataclass(frozen=True)
class OperatorTime:
    """A fitted model of the time of operators."""

    core: Core
    hulls: Mapping[str, Hull]
    seen: Calibration
    unseen: Calibration
    few: Calibration  # of devices with few rows
    rows: Mapping[str, int]  # usable ones by "family|device", of which a fit takes a sample
    flaws: tuple[str, ...] = ()
    vendors: frozenset[str] = frozenset()  # of the devices with many rows

    def estimate(self, operators: pd.DataFrame, devices: Mapping[str, Device], in_stream: bool = False) -> Estimate:
        """Return the time of each row of a table of operators in seconds, on the device that it names.

        With `in_stream`, it is the time of the kernel in a network, without the cost of its launch. Otherwise, the
        column `timing` decides. Rows that cannot be predicted have a reason. Priors are those of single calls: they are
        shorter in a network, by as much as measurements do not replace them.
        """
        why = reasons(operators, devices).to_numpy(dtype="object")
        answered = why == ""
        log_value, spread = np.full(len(operators), np.nan), np.full(len(operators), np.nan)
        if answered.any():
            asked = prepare(operators[answered], devices, in_stream)
            log_value[answered], spread[answered] = self._log_times(asked)
            if in_stream:
                log_value[answered] += IN_NETWORK * self.core.prior_fraction(asked)
        return Estimate(log_value, spread, why)

    def predict(self, operators: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
        """Return the predictions of `estimate` with their intervals and their basis, as `prediction.COLUMNS`.

        The column `timing` decides whether times have the cost of a launch.
        """
        why = reasons(operators, devices).to_numpy(dtype="object")
        answered = why == ""
        log_value, half = np.full(len(operators), np.nan), np.full(len(operators), np.nan)
        asked = prepare(operators[answered], devices) if answered.any() else None
        if asked is not None:
            log_value[answered], spread = self._log_times(asked)
            of_vendors = self._of_vendors(asked.rows["device"], devices) * self.core.unknown(asked)
            half[answered] = np.hypot(self._half_width(asked, spread), of_vendors)
        return pd.concat([prediction_table(log_value, half, why), self._basis(asked, answered)], axis=1)

    def basis(self, operators: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
        """Return the measurements that the prediction of each row is based on.

        `basis_rows` and `basis_devices` count the measurements of its family, and `distance` is how far it is from them
        in standard deviations; 0 and NaN without any.
        """
        answered = (reasons(operators, devices) == "").to_numpy()
        return self._basis(prepare(operators[answered], devices) if answered.any() else None, answered)

    def _basis(self, asked: Prepared | None, answered: NDArray[np.bool_]) -> pd.DataFrame:
        """Return `basis` for rows of which those that are answered are prepared."""
        counts = {name: np.zeros(len(answered), dtype="int64") for name in ("basis_rows", "basis_devices")}
        distance = np.full(len(answered), np.nan)
        if asked is not None:
            by_family = pd.Series(self.rows, dtype="int64").groupby(lambda key: key.split("|")[0])
            for name, each in (("basis_rows", by_family.sum()), ("basis_devices", by_family.size())):
                counts[name][answered] = asked.family.map(each).fillna(0).to_numpy(dtype="int64")
            distance[answered] = np.where(asked.family.isin(list(self.hulls)), self._distance(asked), np.nan)
        return pd.DataFrame({**counts, "distance": distance})

    def _log_times(self, asked: Prepared) -> tuple[Floats, Floats]:
        """Return the logarithms of times in seconds, and their spread, which grows with the distance from the fit."""
        log_value, spread = self.core.log_times(asked)
        return log_value, spread * (1.0 + _WIDER * np.minimum(self._distance(asked), _FARTHEST))

    def _half_width(self, asked: Prepared, spread: Floats) -> Floats:
        """Return half the width of intervals; those of devices with few rows are never wider than without these rows.

        Families without a model have the calibration of the prior.
        """
        is_few = asked.names.isin(list(self.core.few)).to_numpy()
        modelled = asked.family.isin(list(self.core.efficiencies)).to_numpy()
        seen = ((asked.family + "|" + asked.names).map(dict(self.rows)).fillna(0) >= _SEEN).to_numpy()
        unseen = _fitted_or_prior(self.unseen, asked, spread, modelled)
        own = np.where(seen, _fitted_or_prior(self.seen, asked, spread, modelled), unseen)
        if not is_few.any():
            return own
        without = replace(self.core, few={}).log_times(asked)[1] / self.core.log_times(asked)[1]
        of_few = np.minimum(
            _fitted_or_prior(self.few, asked, spread, modelled),
            _fitted_or_prior(self.unseen, asked, spread * without, modelled),
        )
        return np.where(is_few, of_few, own)

    def _of_vendors(self, names: pd.Series, devices: Mapping[str, Device]) -> Floats:
        """Return half the interval of the effect of the vendor of each row: 0 if it has devices with many rows."""
        is_new = ~names.map({name: device.vendor for name, device in devices.items()}).isin(list(self.vendors))
        return np.where(is_new & bool(self.vendors), new_draw(np.array([]), OF_VENDORS), 0.0)

    def _distance(self, asked: Prepared) -> Floats:
        found = np.zeros(len(asked.rows))
        for family, each in self.hulls.items():
            of = (asked.family == family).to_numpy()
            if of.any():
                found[of] = each.distance(asked.features[of])
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the model as JSON types."""
        return {
            "core": self.core.to_json(),
            "hulls": {family: each.to_json() for family, each in self.hulls.items()},
            "seen": stored.to_json(self.seen),
            "unseen": stored.to_json(self.unseen),
            "few": stored.to_json(self.few),
            "rows": dict(self.rows),
            "flaws": list(self.flaws),
            "vendors": sorted(self.vendors),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> OperatorTime:
        """Return the model that `to_json` described."""
        return cls(
            Core.from_json(data["core"]),
            {family: Hull.from_json(each) for family, each in data["hulls"].items()},
            stored.from_json(data["seen"]),
            stored.from_json(data["unseen"]),
            stored.from_json(data["few"]),
            data["rows"],
            tuple(data["flaws"]),
            frozenset(data["vendors"]),
        )


def half_width(calibration: Calibration, rows: Prepared, spread: Floats) -> Floats:
    """Return half the width of the rows' intervals, by family and data type, or by family if it is not calibrated."""
    group = rows.subject_families
    return calibration.half_width(group.where(group.isin(list(calibration.quantiles)), rows.family), spread)


def _fitted_or_prior(calibration: Calibration, asked: Prepared, spread: Floats, modelled: NDArray[np.bool_]) -> Floats:
    """Return half the width of intervals: by a calibration for families with a model, by the prior for others."""
    return np.where(modelled, half_width(calibration, asked, spread), CALIBRATION.half_width(asked.family, spread))


PRIOR = OperatorTime(Core.empty(), {}, CALIBRATION, CALIBRATION, CALIBRATION, {})
