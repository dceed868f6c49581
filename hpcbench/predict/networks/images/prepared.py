"""The rows of a table of networks with what the model needs of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.devices.device import BFLOAT16, FLOAT16, FLOAT32, TF32, Device
from hpcbench.predict.networks.catalog.catalog import Catalog
from hpcbench.predict.networks.images.conditions import CONDITIONS, conditions
from hpcbench.predict.networks.images.rooflines import COMPONENTS, HALF, IS_HOST, rooflines
from hpcbench.predict.networks.images.workload import workload
from hpcbench.predict.tables.networks import INFERENCE, STEP, TRAINING
from hpcbench.predict.tables.prediction import Floats

_DTYPES = (*HALF, FLOAT32, TF32)
_EQUAL = 1.05  # ratio of two rates up to which they are equal: data sheets round them
_OF_DEVICE = ("vector_units", "converted_half", "ridge_point")  # conditions that trees must not use
_FOR_TREES = [place for place, name in enumerate(CONDITIONS) if name not in _OF_DEVICE]
_ARITHMETIC = np.array([name.startswith("arithmetic") for name in COMPONENTS])
_TRAFFIC = np.array([name.startswith("traffic") for name in COMPONENTS])


@dataclass(frozen=True)
class PreparedImages:
    """Rows that can be predicted: `rows` of the table, seconds by component, conditions, and plain features.

    Rows in TF32 are in float32 if their device computes both equally fast, and rows in bfloat16 are in float16.
    """

    rows: pd.DataFrame
    kind: NDArray[np.object_]  # of the device
    seconds: Floats
    conditions: Floats
    plain: Floats

    def select(self, mask: NDArray[np.bool_]) -> PreparedImages:
        """Return the rows of a mask."""
        return PreparedImages(
            *(self.rows[mask].reset_index(drop=True), self.kind[mask], self.seconds[mask]),
            *(self.conditions[mask], self.plain[mask]),
        )

    @property
    def log_time(self) -> Floats:
        """Return the logarithm of the measured seconds."""
        return np.asarray(np.log(self.rows["time_s"].to_numpy(dtype="float64")), dtype=np.float64)


def prepare(
    networks: pd.DataFrame, catalog: Catalog, devices: Mapping[str, Device]
) -> tuple[PreparedImages, NDArray[np.object_]]:
    """Return the rows that can be predicted, and for each row of the table why it cannot, or an empty text."""
    asked = zip(networks["device"], networks["dtype"], networks["phase"], networks["unit"], strict=True)
    reason = np.array(
        [_refusal(device, dtype, phase, unit, devices) for device, dtype, phase, unit in asked], dtype=np.object_
    )
    rows = _with_precision(networks[reason == ""].reset_index(drop=True), devices)
    work = workload(rows, catalog)
    answered = work.reason == ""
    reason[np.flatnonzero(reason == "")[~answered]] = work.reason[~answered]
    seconds = rooflines(work, rows, devices)
    found = PreparedImages(
        rows,
        np.array([devices[name].kind for name in rows["device"]], dtype=object),
        seconds,
        conditions(rows, devices),
        _plain(rows, seconds),
    )
    return found.select(answered), reason


def features(rows: PreparedImages, fractions: Floats) -> Floats:
    """Return the features of the correction: fractions of components, conditions and plain features."""
    return np.column_stack([fractions, rows.conditions[:, _FOR_TREES], rows.plain])


def _with_precision(rows: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
    exact = [name for name, each in devices.items() if each.flops_per_s(TF32) <= _EQUAL * each.flops_per_s(FLOAT32)]
    equal = [name for name, each in devices.items() if each.flops_per_s(BFLOAT16) == each.flops_per_s(FLOAT16)]
    dtype = rows["dtype"].mask((rows["dtype"] == TF32) & rows["device"].isin(exact), FLOAT32)
    return rows.assign(dtype=dtype.mask((dtype == BFLOAT16) & rows["device"].isin(equal), FLOAT16))


def _plain(rows: pd.DataFrame, seconds: Floats) -> Floats:
    """Return logarithms of the batch, the image size, and the ratios of arithmetic, traffic and launches."""
    tiny = 1e-12
    arithmetic, traffic, launches = (
        np.log(seconds[:, mask].sum(axis=1) + tiny) for mask in (_ARITHMETIC, _TRAFFIC, IS_HOST)
    )
    batch = np.log(rows["batch_size"].to_numpy(dtype="float64"))
    size = np.log(rows["image_size"].fillna(1.0).to_numpy(dtype="float64"))
    return np.column_stack([batch, size, arithmetic - traffic, launches - traffic])


def _refusal(device: str, dtype: str, phase: str, unit: str, devices: Mapping[str, Device]) -> str:
    if device not in devices:
        return f"device {device!r} has no description"
    if dtype not in _DTYPES:
        return f"dtype {dtype!r} is unknown for image networks; known are {', '.join(_DTYPES)}"
    if phase not in (INFERENCE, TRAINING):
        return f"phase {phase!r} is unknown; known are {INFERENCE} and {TRAINING}"
    return "" if unit in ("", STEP) else f"times are of a step, not of a {unit}"
