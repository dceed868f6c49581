"""Bounds of the time of operators: the time of their FLOPs at the peak rate, and of their bytes at the memory's.

The roofline bound is the larger one [1]. The soft maximum (c^p + m^p)^(1/p) of both is larger where they are close,
because a kernel does not overlap them perfectly.

[1] S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore
architectures", CACM 52(4), 2009.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.devices.threads import thread_fractions
from hpcbench.predict.operators.device_columns import of_rows, product_rate
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Floats

PRODUCTS = (table.GEMM, table.BATCHED_GEMM)
CONVOLUTIONS = (table.CONV, table.CONV_INPUT_GRADIENT, table.CONV_WEIGHT_GRADIENT)
ATTENTIONS = (table.ATTENTION, table.ATTENTION_DECODE)
# Kinds that compute with the rate of matrix products. All others compute with that of float32 vectors.
MATRIX_KINDS = (*PRODUCTS, *CONVOLUTIONS, *ATTENTIONS, table.RNN)
SHARPNESS = 4.0  # p of the soft maximum


@dataclass(frozen=True)
class Bounds:
    """Lower bounds of the time of each row in seconds; NaN if the device or the data type is unknown."""

    compute_s: Floats
    memory_s: Floats

    @property
    def roofline_s(self) -> Floats:
        """Return the larger of both times in seconds."""
        return np.maximum(self.compute_s, self.memory_s)

    def soft_s(self) -> Floats:
        """Return the soft maximum of both times in seconds: (c^p + m^p)^(1/p) with p = SHARPNESS."""
        top = self.roofline_s
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(top > 0, np.minimum(self.compute_s, self.memory_s) / top, 0.0)
        return top * (1.0 + ratio**SHARPNESS) ** (1.0 / SHARPNESS)


def bounds(rows: pd.DataFrame, devices: Mapping[str, Device]) -> Bounds:
    """Return the bounds of the rows of a table of operators on their devices, in seconds.

    Matrix kinds compute at the rate of their data type, others at the rate of float32 vectors. On CPUs, both peaks are
    those of the number of threads.
    """
    vector = of_rows(rows, devices, lambda device: device.vector_flops_per_s)
    rate = np.where(rows["kind"].isin(MATRIX_KINDS), product_rate(rows, devices), vector)
    bandwidth = of_rows(rows, devices, lambda device: device.memory_bytes_per_s)
    flops, moved = rows["flops"].to_numpy(dtype="float64"), rows["bytes"].to_numpy(dtype="float64")
    compute, memory = thread_fractions(rows, devices)
    return Bounds(np.nan_to_num(flops) / (rate * compute), np.nan_to_num(moved) / (bandwidth * memory))
