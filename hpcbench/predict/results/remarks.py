"""Remarks on predictions: what hpcbench assumes because a device lacks it, or because it is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from hpcbench.predict.devices.device import CPU, GPU, PEAKS_UNDER_LOAD, Device
from hpcbench.predict.operators.device_columns import PRECISIONS
from hpcbench.predict.results.cases import SET_KIND
from hpcbench.predict.results.table import LATENCY_BOUND, OF_LIST, SOURCE, Explanation

REMARKS = "remarks"  # column of the table of results
SEPARATOR = "; "  # of several remarks on a row
_AS_EAGER = "effect of compilation unknown (predicted as fast as in eager execution)"
_WORDS = {GPU: "the GPU", CPU: "the CPUs"}
_STEPS = (
    "time steps of a recurrent layer run one after another: unless the layer was profiled on a GPU, hpcbench assumes "
    "at least 5 us per time step, so predicted times differ little between GPUs"
)
_LEAST_SHARE = 0.001  # of the time, which is shown as a number


def remarks(
    asked: pd.DataFrame,
    results: pd.DataFrame,
    explained: Explanation,
    devices: Mapping[str, Device],
    as_eager: Iterable[bool],
) -> list[str]:
    """Return the remarks on each row of a table of results, separated by SEPARATOR; empty for rows without a time.

    `asked` has its rows as of `cases.asked`. Rows on CPUs have a remark on cores unless the case uses exactly all of
    them. Rows have a remark on clocks if a clock of their device was requested and its lowest clock is unknown, and on
    power limits if only limits of other devices were requested. Rows on another kind of device than the experiment sets
    have a remark, too. `as_eager` is whether a compiled case has the time of eager execution.
    """
    with_clocks = set(asked.loc[asked["clock_mhz"].notna(), "device"])
    with_limits = set(asked.loc[asked["power_limit_w"].notna(), "device"])
    rows = zip(
        *(asked["device"], asked["dtype"].fillna(""), asked["threads"], asked[SET_KIND], results["reason"]),
        *(results[SOURCE], explained.unknown, explained.unknown_operators, explained.limit, as_eager),
        strict=True,
    )
    return [
        SEPARATOR.join(
            [
                *(_on_unknown(unknown, names) if source == OF_LIST else ()),
                *((_AS_EAGER,) if same else ()),
                *((_STEPS,) if limit == LATENCY_BOUND else ()),
                *(_on_peaks(devices[name]) if name in devices else ()),
                *(_on_kind(devices[name], kind) if name in devices else ()),
                *(_on_dtype(devices[name], dtype) if name in devices else ()),
                *(_on_cores(devices[name], threads) if name in devices else ()),
                *(_on_states(devices[name], name, with_clocks, with_limits) if name in devices else ()),
            ]
        )
        if reason == ""
        else ""
        for name, dtype, threads, kind, reason, source, unknown, names, limit, same in rows
    ]


def _on_unknown(share: float, names: Any) -> Iterator[str]:
    if share > 0 and names:
        amount = f"{100 * share:.2g} %" if share >= _LEAST_SHARE else "under 0.1 %"
        yield f"{amount} of the predicted time in operators of unknown kind (predicted from bytes or FLOPs): {names}"


def _on_peaks(device: Device) -> Iterator[str]:
    if device.peaks_under_load:
        yield PEAKS_UNDER_LOAD


def _on_kind(device: Device, kind: str) -> Iterator[str]:
    if kind and kind != device.kind:
        yield f"predicted on {_WORDS[device.kind]}, although the case sets device: {kind}"


def _on_dtype(device: Device, dtype: str) -> Iterator[str]:
    precision = PRECISIONS.get(dtype)
    used = device.computed_in(precision) if precision else None
    if used != precision:
        yield f"rate of {dtype} matrix products unknown (predicted at the rate of {used})"


def _on_cores(device: Device, threads: float) -> Iterator[str]:
    if device.kind == CPU and threads < device.units:  # NaN is all cores
        yield f"predicted on {threads:.0f} of {device.units:.0f} cores (set by cpus_per_task or intra_op_threads)"
    if device.kind == CPU and threads > device.units:
        yield f"predicted on {device.units:.0f} cores: the case has {threads:.0f}, more than the device (cpus_per_task)"


def _on_states(device: Device, name: str, with_clocks: set[str], with_limits: set[str]) -> Iterator[str]:
    if device.kind != GPU:
        return
    if name in with_clocks and device.lowest_mhz is None:
        yield "lowest clock unknown: the device may not support all predicted clocks"
    if with_limits and name not in with_limits:
        yield "power limits not searched (lowest limit unknown)"
