"""The time of image networks on one kind of device, without intervals: mixture, correction and offsets of devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.devices.device import BFLOAT16, CPU, GPU
from hpcbench.predict.networks.images.conditions import CONDITIONS
from hpcbench.predict.networks.images.correction import Correction, fit_correction
from hpcbench.predict.networks.images.mixture import Form, Mixture, fit_mixture, mixture_of, unfitted
from hpcbench.predict.networks.images.prepared import PreparedImages, features
from hpcbench.predict.networks.images.rooflines import COMPONENTS, HALF, IS_HOST
from hpcbench.predict.tables.networks import INFERENCE, TRAINING
from hpcbench.predict.tables.prediction import Floats

# Factors without data, as logarithms, by the first word of a component: rounded medians over the devices of the public
# sets that docs/reference/predictor-data.md documents.
_PRIORS = {
    "arithmetic": 0.0,
    "traffic": 0.5,
    "weights": 0.5,
    "large": 0.5,
    "optimizer": 0.5,
    "launches": 3.0,
    "step": 2.5,
}
_OTHER = 0.3  # of other components
_PRIOR = np.array([_PRIORS.get(name.split(" ")[0], _OTHER) for name in COMPONENTS])
# The power p and the penalties are assumptions. With p = 1, times add up.
FORMS: Mapping[str, Form] = {
    GPU: Form(IS_HOST, 1.5, _PRIOR, ridge=1e-3, drift=1e-3),
    CPU: Form(IS_HOST, 1.0, _PRIOR, ridge=1e-2, drift=1e-3),
}
_SHRINKAGE = 20.0  # rows that pull the offset of a device to zero: an assumption
_OTHER_PHASE = {INFERENCE: TRAINING, TRAINING: INFERENCE}
_RARE = 0.5  # power of the number of rows of a device by which they count: a device with few rows counts more


@dataclass(frozen=True)
class ImageCore:
    """Fitted factors of components, the correction, and offsets by device, phase and precision."""

    kind: str
    mixture: Mixture
    correction: Correction
    offsets: Mapping[str, float]

    def log_times(self, rows: PreparedImages) -> tuple[Floats, Floats, Floats]:
        """Return logarithms of times, the fraction of each component, and the features of the correction."""
        total, fractions = self.mixture.log_times(rows.seconds, rows.conditions, FORMS[self.kind])
        found = features(rows, fractions)
        return total + self.correction.of(found) + self._offset(rows.rows), fractions, found

    def _offset(self, rows: pd.DataFrame) -> Floats:
        """Return the offset of each row; a phase that was not measured on the device has that of the other phase."""
        own, other = (groups(each).map(self.offsets) for each in (rows, rows.replace({"phase": _OTHER_PHASE})))
        return np.asarray(own.fillna(other).fillna(0.0), dtype=np.float64)

    def to_json(self) -> dict[str, Any]:
        """Return the core as a dict of JSON types."""
        mixture, offsets = self.mixture.to_json(), dict(self.offsets)
        return {"kind": self.kind, "mixture": mixture, "correction": self.correction.text, "offsets": offsets}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ImageCore:
        """Return the core that `to_json` described."""
        return cls(data["kind"], mixture_of(data["mixture"]), Correction.from_text(data["correction"]), data["offsets"])


def groups(rows: pd.DataFrame) -> pd.Series:
    """Return the group of each row whose errors are alike: device, phase, and half precision, TF32 or float32.

    If a device computes bfloat16 and float16 at different rates, `PreparedImages` keeps the dtype `bfloat16`, which is
    then a group of its own.
    """
    is_half = rows["dtype"].isin(HALF) & (rows["dtype"] != BFLOAT16)
    return rows["device"] + "|" + rows["phase"] + "|" + rows["dtype"].mask(is_half, "half")


def measured_modes(rows: pd.DataFrame, kind: NDArray[np.object_]) -> pd.Series:
    """Return the kind of device and the execution mode of each row.

    Phase and precision do not matter here: the model also predicts those that were not measured, with the errors in
    docs/concepts/prediction.md.
    """
    return pd.Series(kind, index=rows.index, dtype="object") + "|" + rows["execution"]


def prior_core(kind: str) -> ImageCore:
    """Return the core of a kind of device without measurements."""
    return ImageCore(kind, unfitted(FORMS[kind], len(CONDITIONS)), Correction(), {})


def fit_core(kind: str, rows: PreparedImages) -> ImageCore:
    """Return the core of rows with times."""
    form, weights = FORMS[kind], balanced(rows.rows["device"])
    mixture = fit_mixture(rows.seconds, rows.conditions, rows.log_time, weights, form)
    total, fractions = mixture.log_times(rows.seconds, rows.conditions, form)
    residual = rows.log_time - total
    found = features(rows, fractions)
    correction = fit_correction(found, residual, weights)
    return ImageCore(kind, mixture, correction, _offsets(rows.rows, residual - correction.of(found)))


def balanced(device: pd.Series) -> Floats:
    """Return the weight of each row, so that a device counts with a power of its number of rows."""
    counts = device.map(device.value_counts()).to_numpy(dtype="float64")
    return np.asarray(counts ** (_RARE - 1.0), dtype=np.float64)


def _offsets(rows: pd.DataFrame, residual: Floats) -> dict[str, float]:
    found = pd.Series(residual).groupby(groups(rows)).agg(["median", "size"])
    shrunk = found["median"] * found["size"] / (found["size"] + _SHRINKAGE)
    return {str(name): float(value) for name, value in shrunk.items()}
