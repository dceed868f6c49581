"""Intervals of the time of image networks: errors for families, and for devices, that a fit did not see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.calibration import stored
from hpcbench.predict.calibration.intervals import ALL, OF_DEVICES, Calibration, calibrated, new_draw
from hpcbench.predict.networks.images.core import Core, fit_core
from hpcbench.predict.networks.images.correction import Correction, fit_correction
from hpcbench.predict.networks.images.prepared import Prepared
from hpcbench.predict.tables.prediction import Floats

_FOLDS = 5
_MOST_ROWS = 2500  # of a calibration fold
_ITERATIONS = 60  # from the factors of all rows
_SPREAD_ROUNDS = 40  # trees
_LEAST_SPREAD = 0.03  # of the logarithm
# Without measurements: rounded values of the errors of the priors on the public sets, and a typical spread.
_PRIOR, _PRIOR_SPREAD = Calibration(0, 0.6, {ALL: 1.65}), 0.25


@dataclass(frozen=True)
class Intervals:
    """Calibrations for groups with measurements and without, and the logarithm of the spread."""

    seen: Calibration
    unseen: Calibration
    spread: Correction
    level: float  # logarithm of the spread, to which the trees add

    def of(self, rows: Prepared, features: Floats, seen: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Return the spread of each row, and half the width of its interval, as differences of logarithms.

        A device without measurements has at least the interval of one with them: its network can be new, too.
        """
        spread = _scale(self.level, self.spread, features)
        group = rows.rows["phase"]
        known = self.seen.half_width(group, spread)
        return spread, np.where(seen, known, np.maximum(known, self.unseen.half_width(group, spread)))

    def to_json(self) -> dict[str, Any]:
        """Return the intervals as a dict of JSON types."""
        calibrations = stored.all_to_json({"seen": self.seen, "unseen": self.unseen})
        return {**calibrations, "spread": self.spread.text, "level": self.level}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Intervals:
        """Return the intervals that `to_json` described."""
        seen, unseen = (stored.from_json(data[name]) for name in ("seen", "unseen"))
        return cls(seen, unseen, Correction(data["spread"]), data["level"])


def prior_intervals() -> Intervals:
    """Return the intervals of a kind of device without measurements."""
    return Intervals(_PRIOR, _PRIOR, Correction(), float(np.log(_PRIOR_SPREAD)))


def fit_intervals(rows: Prepared, core: Core) -> Intervals:
    """Return intervals from predictions that leave out families of networks, or devices.

    The spread is fitted on the errors for families. A device with most of the rows cannot be left out; without devices
    that can, their effects are those of the prior.
    """
    errors, features = _errors(rows, core, list(_by_family(rows.rows)))
    magnitude = np.log(errors["error"].abs().to_numpy() + _LEAST_SPREAD)
    level = float(np.median(magnitude))
    spread = _spread(features, magnitude - level)
    seen = calibrated(errors.assign(spread=_left_out_spread(errors, features, magnitude, level)), shared=False)
    left_out = list(_by_device(rows.rows))
    if not left_out:
        return Intervals(seen, Calibration(1, new_draw(np.zeros(0), OF_DEVICES), seen.quantiles), spread, level)
    of_devices, features = _errors(rows, core, left_out)
    found = of_devices.assign(cluster=of_devices["device"], spread=_scale(level, spread, features))
    unseen = calibrated(found, expected=OF_DEVICES)
    return Intervals(seen, unseen, spread, level)


def _spread(features: Floats, magnitude: Floats) -> Correction:
    return fit_correction(features, magnitude, np.ones(len(magnitude)), _SPREAD_ROUNDS)


def _left_out_spread(errors: pd.DataFrame, features: Floats, magnitude: Floats, level: float) -> Floats:
    """Return the spread of each error from the errors of the other folds: on its own, a spread fits too well."""
    found = np.empty(len(errors))
    for fold in errors["fold"].unique():
        test = (errors["fold"] == fold).to_numpy()
        found[test] = _scale(level, _spread(features[~test], magnitude[~test] - level), features[test])
    return found


def _scale(level: float, spread: Correction, features: Floats) -> Floats:
    return np.maximum(np.exp(level + spread.of(features)), _LEAST_SPREAD)


def _errors(rows: Prepared, core: Core, tests: list[NDArray[np.bool_]]) -> tuple[pd.DataFrame, Floats]:
    """Return the errors of rows that fits without them predict, and their features in those fits."""
    tables, features = [], []
    for fold, test in enumerate(tests):
        train = rows.select(_sampled(~test))
        fitted = fit_core(core.kind, train, core.mixture, _ITERATIONS)
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
                }
            )
        )
        features.append(found)
    return pd.concat(tables, ignore_index=True), np.concatenate(features)


def _sampled(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return at most _MOST_ROWS of the rows of a mask, evenly."""
    places = np.flatnonzero(mask)
    chosen = places[np.unique(np.linspace(0, len(places) - 1, min(len(places), _MOST_ROWS)).astype(int))]
    found = np.zeros(len(mask), dtype=bool)
    found[chosen] = True
    return found


def _by_family(rows: pd.DataFrame) -> Iterator[NDArray[np.bool_]]:
    """Yield the rows of each fold of families; a network without a family is its own."""
    family = rows["family"].where(rows["family"] != "", rows["network"].str.extract(r"^([a-z]+)", expand=False))
    codes = pd.Series(pd.factorize(family, sort=True)[0])
    for fold in range(min(_FOLDS, codes.nunique())):
        yield (codes % _FOLDS == fold).to_numpy()


def _by_device(rows: pd.DataFrame) -> Iterator[NDArray[np.bool_]]:
    """Yield the rows of each device that has less than half of them."""
    for device, count in rows["device"].value_counts().items():
        if 2 * count < len(rows):
            yield (rows["device"] == device).to_numpy()
