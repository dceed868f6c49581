"""Intervals of the time of image networks: errors for families, and for devices, that a fit did not see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.calibration import stored
from hpcbench.predict.calibration.intervals import ALL, OF_DEVICES, Calibration, calibrated, new_draw
from hpcbench.predict.choice.ratios import PRIOR_OF_RATIOS, RatioErrors, ratio_errors
from hpcbench.predict.devices.device import FLOAT32, TF32
from hpcbench.predict.networks.images.core import fit_core
from hpcbench.predict.networks.images.correction import Correction, fit_correction
from hpcbench.predict.networks.images.prepared import PreparedImages
from hpcbench.predict.tables.prediction import Floats

_FOLDS = 5  # of families of networks
_FEWEST = 2  # networks of which one can be left out
_MOST_ROWS = 2500  # of a calibration fold
_SPREAD_ROUNDS = 40  # trees
_WORK = ("network", "phase", "dtype", "layout", "execution", "batch_size", "image_size")
_LEAST_SPREAD = 0.03  # of the logarithm
# Without measurements: rounded values of the errors of the priors on the public sets, and a typical spread.
_PRIOR, _PRIOR_SPREAD = Calibration(0, 0.6, {ALL: 1.65}), 0.25


@dataclass(frozen=True)
class Spread:
    """The expected size of errors: the logarithm of a typical one, to which trees on features add."""

    level: float
    trees: Correction

    def of(self, features: Floats) -> Floats:
        """Return the spread of each row of features, as a difference of logarithms."""
        return np.maximum(np.exp(self.level + self.trees.of(features)), _LEAST_SPREAD)


@dataclass(frozen=True)
class Intervals:
    """Calibrations for groups with measurements and without, the spread of errors, and the errors of ratios.

    `ratios` are those of the times of two devices that a fit did not see.
    """

    seen: Calibration
    unseen: Calibration
    spread: Spread
    ratios: RatioErrors

    def half_width(self, rows: PreparedImages, features: Floats, seen: NDArray[np.bool_]) -> Floats:
        """Return half the width of the 90 % interval of each row, as a difference of logarithms."""
        spread = self.spread.of(features)
        group = rows.rows["phase"]
        return np.where(seen, self.seen.half_width(group, spread), self.unseen.half_width(group, spread))

    def to_json(self) -> dict[str, Any]:
        """Return the intervals as a dict of JSON types."""
        calibrations = stored.all_to_json({"seen": self.seen, "unseen": self.unseen})
        ratios = asdict(self.ratios)
        return {**calibrations, "spread": self.spread.trees.text, "level": self.spread.level, "ratios": ratios}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Intervals:
        """Return the intervals that `to_json` described."""
        seen, unseen = (stored.from_json(data[name]) for name in ("seen", "unseen"))
        ratios = RatioErrors(**data["ratios"])
        return cls(seen, unseen, Spread(data["level"], Correction.from_text(data["spread"])), ratios)


def prior_intervals() -> Intervals:
    """Return the intervals of a kind of device without measurements."""
    return Intervals(_PRIOR, _PRIOR, Spread(float(np.log(_PRIOR_SPREAD)), Correction()), PRIOR_OF_RATIOS)


def fit_intervals(kind: str, rows: PreparedImages) -> Intervals:
    """Return intervals from predictions that leave out families of networks, or devices.

    The spread is fitted on the errors for families; an error that calibrates an interval has a spread without it. A
    device with most of the rows cannot be left out; without devices that can, their effects are those of the prior.
    """
    if rows.rows["network"].nunique() < _FEWEST:
        return prior_intervals()
    errors, features = _errors(kind, rows, list(_by_family(rows.rows)))
    seen = calibrated(errors.assign(spread=_left_out_spread(errors, features)), shared=False)
    spread = _spread(errors["error"], features)
    left_out = list(_by_device(rows.rows))
    if not left_out:
        unseen = Calibration(1, new_draw(np.zeros(0), OF_DEVICES), seen.quantiles)
        return Intervals(seen, unseen, spread, PRIOR_OF_RATIOS)
    found, asked = _errors(kind, rows, left_out)
    of_device = np.empty(len(found))
    for device in found["device"].unique():
        test, train = ((each["device"] == device).to_numpy() for each in (found, errors))
        of_device[test] = _spread(errors["error"][~train], features[~train]).of(asked[test])
    unseen = calibrated(found.assign(cluster=found["device"], spread=of_device), expected=OF_DEVICES)
    ratios = _ratios(found, unseen.half_width(found["group"], of_device))
    return Intervals(seen, replace(unseen, quantiles=_largest(unseen.quantiles, seen.quantiles)), spread, ratios)


def _largest(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    """Return the larger quantile of each group: a network on a device without measurements can be new, too."""
    return {name: max(each.get(name, each[ALL]) for each in (one, other)) for name in {*one, *other}}


def _ratios(errors: pd.DataFrame, half_width: Floats) -> RatioErrors:
    return ratio_errors(errors.assign(cluster=errors["device"], half_width=half_width))


def _spread(errors: pd.Series, features: Floats) -> Spread:
    magnitude = np.log(errors.abs().to_numpy() + _LEAST_SPREAD)
    level = float(np.median(magnitude))
    return Spread(level, fit_correction(features, magnitude - level, np.ones(len(magnitude)), _SPREAD_ROUNDS))


def _left_out_spread(errors: pd.DataFrame, features: Floats) -> Floats:
    """Return the spread of each error from the errors of the other folds: on its own, a spread fits too well."""
    found = np.empty(len(errors))
    for fold in errors["fold"].unique():
        test = (errors["fold"] == fold).to_numpy()
        found[test] = _spread(errors["error"][~test], features[~test]).of(features[test])
    return found


def _errors(kind: str, rows: PreparedImages, tests: list[NDArray[np.bool_]]) -> tuple[pd.DataFrame, Floats]:
    """Return the errors of rows that fits without them predict, and their features in those fits."""
    tables, features = [], []
    for fold, test in enumerate(tests):
        train = rows.select(_sampled(~test))
        fitted = fit_core(kind, train)
        asked = rows.select(test)
        log_time, _, found = fitted.log_times(asked)
        tables.append(
            pd.DataFrame(
                {
                    "error": asked.log_time - log_time,
                    "group": asked.rows["phase"],
                    "cluster": asked.rows["network"],
                    "device": asked.rows["device"],
                    "fold": fold,
                    "item": _items(asked.rows),
                }
            )
        )
        features.append(found)
    return pd.concat(tables, ignore_index=True), np.concatenate(features)


def _items(rows: pd.DataFrame) -> pd.Series:
    """Return what each row ran: rows of two devices with the same text can be compared."""
    columns = rows.assign(dtype=rows["dtype"].replace(TF32, FLOAT32))[list(_WORK)].astype("string").fillna("")
    return columns[_WORK[0]].str.cat(columns[list(_WORK[1:])], sep="|")


def _sampled(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return at most _MOST_ROWS of the rows of a mask, evenly."""
    places = np.flatnonzero(mask)
    chosen = places[np.unique(np.linspace(0, len(places) - 1, min(len(places), _MOST_ROWS)).astype(int))]
    found = np.zeros(len(mask), dtype=bool)
    found[chosen] = True
    return found


def _by_family(rows: pd.DataFrame) -> Iterator[NDArray[np.bool_]]:
    """Yield the rows of each fold of families, or of networks if there is only one family.

    A network without a family has the lower-case letters at the start of its name, or its whole name without these.
    """
    first = rows["network"].str.extract(r"^([a-z]+)", expand=False).fillna(rows["network"])
    family = rows["family"].where(rows["family"] != "", first)
    codes = pd.Series(pd.factorize(family if family.nunique() > 1 else rows["network"], sort=True)[0])
    for fold in range(min(_FOLDS, codes.nunique())):
        yield (codes % _FOLDS == fold).to_numpy()


def _by_device(rows: pd.DataFrame) -> Iterator[NDArray[np.bool_]]:
    """Yield the rows of each device that has less than half of them."""
    for device, count in rows["device"].value_counts().items():
        if 2 * count < len(rows):
            yield (rows["device"] == device).to_numpy()
