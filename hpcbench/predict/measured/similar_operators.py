"""The time of operators on CPUs whose operators were measured, from similar ones on the same CPUs.

The simple model is the roofline of the CPUs for the number of threads, plus the time of a call and of the copies of
weights. The time of page faults is added, because it does not depend on the efficiency of the operator. Models of other
devices are not used, because they are fitted on GPUs. The times of GPUs, and of CPUs without measurements, are from
another model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import CPU, Device
from hpcbench.predict.measured.copied_weights import copied_bytes
from hpcbench.predict.measured.covariance import Points
from hpcbench.predict.measured.kriging import Kriging
from hpcbench.predict.measured.page_faults import FAULT_SPREAD, fault_pages, page_time, without_faults
from hpcbench.predict.networks.listed.time_estimator import TimeEstimator
from hpcbench.predict.operators.device_columns import device_names, of_rows
from hpcbench.predict.operators.roofline import bounds
from hpcbench.predict.operators.states import lowered
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Estimate, Floats
from hpcbench.predict.time.priors import CPU_CALL_S
from hpcbench.predict.time.usable import reasons

_FEWEST, _MOST = 15, 1500  # rows of CPUs: fewer show little, and the cost of the fit grows with the third power
_SIZES = ("batch", "m", "n", "k", "kernel", "stride", "rows", "columns", "inputs")
_LEAST_S = 1e-8  # seconds: below all bounds of real operators, so that the logarithm of a bound exists


@dataclass(frozen=True)
class MeasuredCPUs:
    """What the measured operators of one kind of CPUs show: their efficiency, and the time of a page fault."""

    efficiency: Kriging
    page_s: float

    def to_json(self) -> dict[str, Any]:
        """Return the model as JSON types."""
        return {"page_s": self.page_s, "efficiency": self.efficiency.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MeasuredCPUs:
        """Return the model that `to_json` described."""
        return cls(Kriging.from_json(data["efficiency"]), float(data["page_s"]))


@dataclass(frozen=True)
class SimilarTime:
    """Measured CPUs by their name, and a model of all other devices."""

    others: TimeEstimator
    own: Mapping[str, MeasuredCPUs]

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
                rest, of_rest = model.efficiency.predict(_points(rows, devices))
                computed_s, faults_s = _simple_s(rows, devices) * np.exp(rest), fault_pages(rows) * model.page_s
                value[of] = np.log(computed_s + faults_s)
                spread[of] = np.hypot(computed_s * of_rest, faults_s * FAULT_SPREAD) / (computed_s + faults_s)
        return Estimate(value, spread, reason)

    def to_json(self) -> dict[str, Any]:
        """Return the model without `others`, as JSON types."""
        return {name: each.to_json() for name, each in self.own.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], others: TimeEstimator) -> SimilarTime:
        """Return the model that `to_json` wrote."""
        return cls(others, {name: MeasuredCPUs.from_json(each) for name, each in data.items()})


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
            time_s, page_s = kept["time_s"].to_numpy(dtype="float64"), page_time(kept)
            computed_s = without_faults(time_s, fault_pages(kept) * page_s)
            rest = np.log(computed_s / _simple_s(kept, devices))
            found[device.name] = MeasuredCPUs(Kriging(_points(kept, devices), rest), page_s)
    return SimilarTime(others, found)


def _simple_s(rows: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
    copies = bounds(rows.assign(bytes=copied_bytes(rows)), devices)
    return np.asarray(bounds(rows, devices).soft_s() + copies.memory_s + CPU_CALL_S)


def _points(rows: pd.DataFrame, devices: Mapping[str, Device]) -> Points:
    """Return what the covariance of operators depends on. Gradients are functions of their own."""
    sizes = np.nan_to_num(rows[list(_SIZES)].to_numpy(dtype="float64"), nan=1.0)
    limits = bounds(rows, devices)
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
