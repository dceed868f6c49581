"""The time of operators on CPUs whose operators were measured, from similar ones on the same CPUs.

The simple model is the roofline of the CPUs for the number of threads, with the cost of a call, and of the copies of
weights in recurrent layers. The time of page faults is added, because it does not depend on the efficiency of the
operator. Models of other devices are not used, because they are fitted on GPUs. The times of GPUs, and of CPUs without
measurements, are from another model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import CPU, Device
from hpcbench.predict.measured.kriging import Kriging, Points
from hpcbench.predict.measured.page_faults import FAULT_SPREAD, fault_times
from hpcbench.predict.measured.recurrent_weights import copy_times
from hpcbench.predict.networks.listed.time_estimator import TimeEstimator
from hpcbench.predict.operators.device_columns import device_names, of_rows
from hpcbench.predict.operators.roofline import Bounds, bounds
from hpcbench.predict.operators.states import lowered
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Estimate, Floats
from hpcbench.predict.time.priors import CPU_CALL_S
from hpcbench.predict.time.usable import reasons

_FEWEST, _MOST = 15, 1500  # rows of CPUs: fewer show little, and the cost of the fit grows with the third power
_SIZES = ("batch", "m", "n", "k", "kernel", "stride", "rows", "columns", "inputs")
_LEAST_COMPUTED = 0.2  # share of a measured time that is not page faults, at least: an assumption
_LEAST_S = 1e-8  # seconds: below all bounds of real operators, so that the logarithm of a bound exists


@dataclass(frozen=True)
class SimilarTime:
    """Measured operators by the name of their CPUs, and a model of all other devices."""

    others: TimeEstimator
    own: Mapping[str, Kriging]

    def estimate(self, operators: pd.DataFrame, devices: Mapping[str, Device], in_stream: bool) -> Estimate:
        """Return the logarithms of the times in seconds, for measured CPUs always those inside a network."""
        names = device_names(operators, devices)
        is_own = names.isin(list(self.own)).to_numpy()
        if not is_own.any():
            return self.others.estimate(operators, devices, in_stream)
        value, spread = np.full(len(operators), np.nan), np.full(len(operators), np.nan)
        reason = np.full(len(operators), "", dtype=object)
        if not is_own.all():
            found = self.others.estimate(operators[~is_own], devices, in_stream)
            value[~is_own], spread[~is_own], reason[~is_own] = found.log_value, found.spread, found.reason
        reason[is_own] = reasons(operators[is_own], devices).to_numpy(dtype="object")
        for name, model in self.own.items():
            of = (names == name).to_numpy() & (reason == "")
            if of.any():
                rows = operators[of].assign(timing=table.STREAM)
                limits = bounds(rows, devices)
                rest, of_rest = model.predict(_points(rows, devices, limits))
                computed_s, faults_s = _simple_s(rows, limits) * np.exp(rest), fault_times(rows)
                value[of] = np.log(computed_s + faults_s)
                spread[of] = np.hypot(computed_s * of_rest, faults_s * FAULT_SPREAD) / (computed_s + faults_s)
        return Estimate(value, spread, reason)

    def to_json(self) -> dict[str, Any]:
        """Return the model without `others`, as JSON types."""
        return {name: each.to_json() for name, each in self.own.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], others: TimeEstimator) -> SimilarTime:
        """Return the model that `to_json` wrote."""
        return cls(others, {name: Kriging.from_json(each) for name, each in data.items()})


def similar_times(operators: pd.DataFrame, devices: Mapping[str, Device], others: TimeEstimator) -> SimilarTime:
    """Return the model of the CPUs that have enough measured operators; `others` predicts other devices."""
    found = {}
    for key, rows in operators[operators["time_s"] > 0].groupby("device", sort=True):
        device = devices.get(str(key))
        if device is None or device.kind != CPU:
            continue
        rows = rows[(reasons(rows, devices) == "").to_numpy() & ~lowered(rows, devices)]
        if len(rows) >= _FEWEST:
            kept = rows.sample(min(len(rows), _MOST), random_state=0)
            limits = bounds(kept, devices)
            rest = np.log(_computed_s(kept) / _simple_s(kept, limits))
            found[device.name] = Kriging(_points(kept, devices, limits), rest)
    return SimilarTime(others, found)


def _simple_s(rows: pd.DataFrame, limits: Bounds) -> Floats:
    return np.asarray(limits.soft_s() + copy_times(rows, limits) + CPU_CALL_S)


def _computed_s(rows: pd.DataFrame) -> Floats:
    """Return the measured times without page faults, in seconds."""
    time_s = rows["time_s"].to_numpy(dtype="float64")
    return np.maximum(time_s - fault_times(rows), _LEAST_COMPUTED * time_s)


def _points(rows: pd.DataFrame, devices: Mapping[str, Device], limits: Bounds) -> Points:
    """Return what the covariance of operators depends on. Gradients are functions of their own."""
    sizes = np.nan_to_num(rows[list(_SIZES)].to_numpy(dtype="float64"), nan=1.0)
    times = np.column_stack([limits.compute_s, limits.memory_s])
    threads, cores = rows["threads"].to_numpy(dtype="float64"), of_rows(rows, devices, lambda device: device.units)
    is_forward = (rows["phase"].isin(("", table.FORWARD))).map({True: "", False: " backward"})
    return Points(
        kinds=rows["kind"].to_numpy(dtype=np.str_),
        functions=(rows["kind"] + " " + rows["function"] + is_forward).to_numpy(dtype=np.str_),
        threads=np.where(np.isnan(threads), cores, threads),
        is_call=(rows["timing"] != table.STREAM).to_numpy(),
        sizes=np.log2(np.column_stack([np.maximum(times, _LEAST_S), np.maximum(sizes, 1.0)])),
    )
