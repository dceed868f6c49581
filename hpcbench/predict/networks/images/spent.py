"""What the predicted time of image networks is spent on: launches of the host, arithmetic, and kinds of operators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import CPU
from hpcbench.predict.networks.images.core import FORMS, ImageCore
from hpcbench.predict.networks.images.prepared import PreparedImages
from hpcbench.predict.networks.images.rooflines import COMPONENTS, IS_HOST
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Floats

OTHER = "other"  # kind of the operators on weights alone, which are one component
# Kinds of operators of the last words of components.
_KINDS = {
    **dict.fromkeys(("conv1x1", "conv", "grouped", "depthwise", "groups"), table.CONV),
    **dict.fromkeys(("attention", "scores"), table.ATTENTION),
    "batch_norm": table.BATCH_NORM,
    "layer_norm": table.LAYER_NORM,
    "softmax": table.SOFTMAX,
    "copy": table.COPY,
    "pointwise": table.POINTWISE,
    "optimizer": table.OPTIMIZER,
    "linear": table.GEMM,
    "bmm": table.BATCHED_GEMM,
    "pool": table.POOLING,
    "reduce": table.REDUCTION,
}
_IS_FIXED = np.array([name == "step" for name in COMPONENTS])  # the constant time of the framework per step
_IS_DEVICE = ~IS_HOST & ~_IS_FIXED
_LEAST = 1e-9  # fraction of the time that the device has at least


@dataclass(frozen=True)
class Spent:
    """What times are spent on, one row per network; NaN for networks that are refused.

    `launches` is the time of the host as a multiple of that of the device; 0 on CPUs, which launch no kernels.
    `shares` are those of kinds of operators in the time of the device, and `compute` is the share of kinds with more
    arithmetic than memory traffic.
    """

    launches: Floats
    compute: Floats
    shares: pd.DataFrame

    @classmethod
    def unknown(cls, count: int) -> Spent:
        """Return that nothing is known of `count` networks."""
        nothing = np.full(count, np.nan)
        return cls(nothing, nothing.copy(), pd.DataFrame(np.nan, range(count), sorted(set(_KIND_OF))))


_OF_DEVICE = [name for name, own in zip(COMPONENTS, _IS_DEVICE, strict=True) if own]
_KIND_OF = [_KINDS.get(name.split(" ")[-1], OTHER) for name in _OF_DEVICE]
# Kinds of the catalog; narrow groups are grouped convolutions.
_LAST = [name.split(" ")[-1].replace("groups", "grouped") for name in _OF_DEVICE]
_IS_ARITHMETIC = [name.startswith(("arithmetic", "narrow")) for name in _OF_DEVICE]


def spent(core: ImageCore, rows: PreparedImages) -> Spent:
    """Return what the time of rows on the kind of device of a core is spent on.

    The constant time per step counts as launches.
    """
    _, fractions, _ = core.log_times(rows)
    queue = fractions[:, ~IS_HOST].sum(axis=1)  # of the device, with the constant time per step
    host = (fractions[:, IS_HOST].sum(axis=1) / queue) ** (1.0 / FORMS[core.kind].power)
    own = fractions[:, _IS_DEVICE] / queue[:, None]
    device = np.maximum(own.sum(axis=1), _LEAST)
    launches = np.zeros(len(own)) if core.kind == CPU else (host + 1.0 - device) / device
    shares = own / device[:, None]
    by_kind = pd.DataFrame(shares, columns=_KIND_OF).T.groupby(level=0).sum().T
    return Spent(launches, _compute(shares), by_kind)


def _compute(shares: Floats) -> Floats:
    """Return the share of kinds of operators with more time in arithmetic than in memory traffic."""
    found = np.zeros(len(shares))
    for name in set(_LAST):
        own = shares[:, [last == name for last in _LAST]].sum(axis=1)
        arithmetic = shares[:, [last == name and yes for last, yes in zip(_LAST, _IS_ARITHMETIC, strict=True)]]
        found += np.where(arithmetic.sum(axis=1) > own / 2, own, 0.0)
    return found
