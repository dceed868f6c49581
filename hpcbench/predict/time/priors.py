"""What is known about operators before any measurement: typical values of the public sets, over all their devices.

They are medians, and spreads between and within devices, as logarithms of kernel time over sustained bound. No device
is named, and each constant is rounded: they are for devices and kinds without data, with wide intervals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hpcbench.predict.calibration.intervals import ALL, Calibration
from hpcbench.predict.devices.device import Device
from hpcbench.predict.operators.device_columns import is_cpu
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Floats
from hpcbench.predict.time.families import families


@dataclass(frozen=True)
class Prior:
    """Typical values of a family of operators."""

    log_efficiency: float  # median of log(kernel time / sustained bound)
    spread: float  # standard deviation of the same on a new device
    call_s: float  # least time of a call on a GPU
    stream_s: float  # least time of a kernel in a stream


PRIORS: Mapping[str, Prior] = {
    "gemm": Prior(0.35, 0.5, 55e-6, 2.2e-6),
    "scaled_gemm": Prior(1.2, 1.0, 90e-6, 50e-6),
    "batched_gemm": Prior(0.15, 0.5, 40e-6, 2.2e-6),
    "conv": Prior(0.15, 0.45, 55e-6, 2.2e-6),
    "pointwise": Prior(0.2, 0.25, 32e-6, 2.0e-6),
    "softmax": Prior(0.6, 0.4, 36e-6, 2.0e-6),
    "norm": Prior(0.85, 0.4, 46e-6, 2.0e-6),
    "attention": Prior(1.0, 0.8, 45e-6, 6.5e-6),
    "attention_decode": Prior(1.2, 0.9, 45e-6, 6.5e-6),
}
# The time of events around a call, and of the start of its kernel; in a stream, of the start of a kernel. In seconds,
# typical values of the public sets, too.
CALL_EVENTS_S, STREAM_EVENTS_S = 17e-6, 1e-6
CPU_CALL_S = 3e-6  # of the dispatcher of a framework on CPUs, in seconds: an assumption
# What a network adds to the logarithm of a prior time: the priors are those of single calls, which take longer.
# The rounded median for the networks of the public sets.
IN_NETWORK = -0.2
BORROWED = 2.0  # factor of the spread of kinds and data types that borrow the model of others: an assumption
# Fraction of the variance of a prior that is between devices, which measurements of a device remove: an assumption.
BETWEEN = 0.6
# 1.65 is the 90 % quantile of the size of normal errors; the common error of a device is assumed.
CALIBRATION = Calibration(clusters=0, cluster=0.4, quantiles={ALL: 1.65})
# As logarithms. 0.3 is the standard deviation of calls between devices of the public sets; the other one is assumed.
UNKNOWN_FLOOR_SPREAD, KNOWN_FLOOR_SPREAD = 0.3, 0.08


def prior_values(rows: pd.DataFrame, value: str) -> Floats:
    """Return a field of the prior of each row; NaN for kinds without a family."""
    found = families(rows).map({name: getattr(prior, value) for name, prior in PRIORS.items()})
    return found.to_numpy(dtype="float64", copy=True)


def prior_floor(rows: pd.DataFrame, devices: Mapping[str, Device], timing: pd.Series) -> Floats:
    """Return the least time of each row in seconds, by how it is timed."""
    on_gpu = np.where(timing == table.STREAM, prior_values(rows, "stream_s"), prior_values(rows, "call_s"))
    return np.where(is_cpu(rows, devices) > 0, CPU_CALL_S, on_gpu)


def events(rows: pd.DataFrame, devices: Mapping[str, Device], timing: pd.Series) -> Floats:
    """Return the time of events and of starting a kernel in seconds, by how each row is timed."""
    on_gpu = np.where(timing == table.STREAM, STREAM_EVENTS_S, CALL_EVENTS_S)
    return np.where(is_cpu(rows, devices) > 0, 0.0, on_gpu)
