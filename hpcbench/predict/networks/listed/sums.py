"""Sums over the kernels of networks: the time of the device by part and kind, and the time of the host."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import CPU, GPU, Device
from hpcbench.predict.networks.launch_time import LAUNCH_S
from hpcbench.predict.networks.listed.recurrent_steps import least_times
from hpcbench.predict.networks.listed.time_estimator import TimeEstimator
from hpcbench.predict.operators.device_columns import of_rows
from hpcbench.predict.operators.roofline import MATRIX_KINDS
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.networks import EAGER
from hpcbench.predict.tables.prediction import Floats

FORWARD, BACKWARD, OPTIMIZER = table.FORWARD, table.BACKWARD, table.UPDATE
PARTS = (FORWARD, BACKWARD, OPTIMIZER)
HOST = "host "
# Gradients are accumulated in the backward pass.
_PART_OF = {"": FORWARD, FORWARD: FORWARD, BACKWARD: BACKWARD, table.ACCUMULATE: BACKWARD, OPTIMIZER: OPTIMIZER}
# Time of the framework between two operators on CPUs, in seconds: an assumption for PyTorch. Times of operators in a
# profiled step have the dispatcher in them. What is left is Python: 2 us is the rounded median of steps of three small
# networks, in inference and training, with one thread of a Xeon at 2.8 GHz and PyTorch 2.13.
_CPU_GAP_S, _PROFILED_GAP_S = 6e-6, 2e-6
_ROUNDING = 1e-9  # of logarithms
_KEY = ("device", "clock_mhz", "power_limit_w", "threads", "library", *table.WORK)


def kernel_times(
    networks: pd.DataFrame,
    kernels: pd.DataFrame,
    devices: Mapping[str, Device],
    operator_time: TimeEstimator,
    profiled: Collection[str] = (),
) -> pd.DataFrame:
    """Return one row per network and kernel: the kernels' columns, and `place`, `part`, `total_s`, `spread`, `known`.

    `waits` is whether a recurrent layer on a GPU takes at most the assumed time of its time steps, which run one after
    another. `place` is the number of the row of `networks`. `profiled` has the devices on which `operator_time` has
    seen times of operators in steps. Kernels without a model have the time of their bytes or FLOPs.
    """
    conditions = ["device", "clock_mhz", "power_limit_w", "threads", "library", "list_id", "execution"]
    asked = networks[conditions].reset_index(drop=True).rename_axis("place").reset_index()
    listed = asked.merge(kernels, on="list_id", how="inner")
    if listed.empty:
        return listed.assign(part="", total_s=0.0, spread=0.0, known=False, waits=False)
    rows = table.complete(listed)
    distinct, places = _distinct(rows)
    estimate = operator_time.estimate(distinct, devices, True)
    known = (estimate.reason == "")[places] & (rows["kind"] != table.UNKNOWN).to_numpy()
    log_value = np.where(known, estimate.log_value[places], np.log(_without_model_s(rows, devices)))
    spread = np.where(known, estimate.spread[places], np.nan)
    call_s = np.exp(log_value) + _between_s(rows, devices, profiled)
    steps_s = least_times(rows, devices)
    call_s = np.where(known, call_s, np.maximum(call_s, steps_s))
    return listed.assign(
        part=listed["phase"].map(_PART_OF).fillna(FORWARD),
        total_s=call_s * listed["calls"].to_numpy(dtype="float64"),
        spread=spread,
        known=known,
        waits=(steps_s > 0) & (call_s <= steps_s * (1 + _ROUNDING)),
    )


def _between_s(rows: pd.DataFrame, devices: Mapping[str, Device], profiled: Collection[str]) -> Floats:
    """Return the time of the framework between two operators in seconds: on CPUs, it adds to that of operators."""
    on_cpu = np.where(rows["device"].isin(list(profiled)), _PROFILED_GAP_S, _CPU_GAP_S)
    return np.where(_is_on(CPU, rows, devices), on_cpu, 0.0)


def _is_on(kind: str, rows: pd.DataFrame, devices: Mapping[str, Device]) -> np.ndarray:
    return rows["device"].isin([name for name, device in devices.items() if device.kind == kind]).to_numpy()


def _distinct(rows: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the distinct operators, and for each row the number of its operator among them."""
    numbers = rows.groupby(list(_KEY), sort=False, dropna=False).ngroup().to_numpy()
    _, first = np.unique(numbers, return_index=True)
    return rows.iloc[first].reset_index(drop=True), numbers


def _without_model_s(rows: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
    """Return the time of the bytes of each row in memory, at least that of one byte, in seconds.

    Products have at least the time of their FLOPs in vector units in float32, an assumption for other data types.
    """
    moved = np.maximum(rows["bytes"].fillna(0.0).to_numpy(dtype="float64"), 1.0)
    bytes_s = moved / of_rows(rows, devices, lambda device: device.memory_bytes_per_s)
    flops = rows["flops"].where(rows["kind"].isin(MATRIX_KINDS), 0.0).fillna(0.0).to_numpy(dtype="float64")
    found: Floats = np.maximum(bytes_s, flops / of_rows(rows, devices, lambda device: device.vector_flops_per_s))
    return found


def sums(networks: pd.DataFrame, times: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
    """Return one row per network, in seconds: the device time of each of `PARTS`, and `host PART`, that of the host.

    `unknown` is the share of kernels of unknown kind in the device time. `spread` is that of the operators, weighted by
    their time, as if all of them had the same error: an upper limit.
    """
    places = pd.RangeIndex(len(networks))
    launch_s = times["execution"].map(LAUNCH_S).fillna(LAUNCH_S[EAGER])
    host = times.assign(_host=(times["calls"] * launch_s).where(_is_on(GPU, times, devices), 0.0))
    known = times["total_s"].where(times["known"], 0.0)
    by_place = times.assign(_known=known, _weighted=known * times["spread"].fillna(0.0)).groupby("place")
    rest = by_place[["total_s", "_known", "_weighted"]].sum().reindex(places)
    return (
        _by_part(times, "total_s", places)
        .join(_by_part(host, "_host", places).add_prefix(HOST))
        .assign(unknown=1.0 - rest["_known"] / rest["total_s"], spread=rest["_weighted"] / rest["_known"])
    )


def _by_part(times: pd.DataFrame, value: str, places: pd.RangeIndex) -> pd.DataFrame:
    found = times.pivot_table(index="place", columns="part", values=value, aggfunc="sum", observed=True)
    return found.reindex(index=places, columns=list(PARTS)).fillna(0.0)


def shares(times: pd.DataFrame) -> pd.DataFrame:
    """Return the share of the device time of each network in each kind of kernel: one row per `place`.

    Kernels without a model, for example products in float64, are of unknown kind.
    """
    kinds = times.assign(kind=times["kind"].where(times["known"].astype("bool"), table.UNKNOWN))
    by_kind = kinds.pivot_table(index="place", columns="kind", values="total_s", aggfunc="sum", observed=True)
    return by_kind.fillna(0.0).div(by_kind.sum(axis=1), axis=0)
