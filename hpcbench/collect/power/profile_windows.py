"""Power, energy and clocks of the operators of a profile, from the timeline of the node in their windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import NamedTuple

from hpcbench.collect.energy import parts_of
from hpcbench.core.energy import Energy
from hpcbench.core.profiling.device_state import CLOCK_TOLERANCE
from hpcbench.core.profiling.operator_row import NETWORK, POWER_CAP, OperatorRow
from hpcbench.core.record import MonitorSummary, Record
from hpcbench.core.record_field import described
from hpcbench.node.monitor import energy, throttle_reasons
from hpcbench.node.monitor.timeline import Timeline

WAITED = 1.1  # time of a call in the window of a GPU, relative to its hot time: above it, the GPU waited for launches
_KINDS = {"cpu": ("cpu", "memory"), "gpu": ("gpu",)}  # by device; the first one must be measured
_THROTTLED = {
    throttle_reasons.POWER_CAP: POWER_CAP,
    throttle_reasons.HARDWARE_SLOWDOWN: "hardware slowdown",
    throttle_reasons.SOFTWARE_THERMAL: "software thermal slowdown",
    throttle_reasons.HARDWARE_THERMAL: "hardware thermal slowdown",
    throttle_reasons.POWER_BRAKE: "power brake",
}


@dataclass(frozen=True)
class WindowReadings:
    """What the sensors of the device showed in the power window of an operator. Null is not measured."""

    power_w: float | None = described("mean power of the device in the power window", default=None)
    power_uncertainty_w: float | None = described("its expanded uncertainty (about 95 %)", default=None)
    power_scope: str | None = described(
        "components that the power includes: `gpu`, `cpu` or `cpu+memory`", default=None
    )
    energy_per_call_j: float | None = described("energy of one call, including the idle power", default=None)
    energy_uncertainty_j: float | None = described("its expanded uncertainty (about 95 %)", default=None)
    power_reason: str | None = described("why the power is null", default=None)
    sm_clock_mhz: float | None = described(
        "mean clock of the multiprocessors of the GPU, over the period of `clock_moved`", default=None
    )
    memory_clock_mhz: float | None = described("mean clock of the memory of the GPU", default=None)
    cpu_clock_mhz: float | None = described(
        "mean clock of the CPUs of the run, over the period of `clock_moved`", default=None
    )
    clock_moved: bool | None = described(
        f"whether the clock moved by more than {100 * CLOCK_TOLERANCE:g} % in the power window; without one, during "
        "the measurement of the whole step (row `network`)",
        default=None,
    )
    temperature_c: float | None = described("highest temperature of the GPU", default=None)
    throttle_reasons: str | None = described(
        "reasons that throttled the GPU; empty text if there were none", default=None
    )


def without_power(reason: str) -> WindowReadings:
    """Return the readings of an operator without power, with the reason."""
    return WindowReadings(power_reason=reason)


def reason_of_run(record: Record, device: str) -> str:
    """Return why the operators of a run have no power windows, by its settings and the monitor of its node."""
    profile = record.measure.get("profile")
    if isinstance(profile, dict) and profile.get("power") == "off":
        return "measure.profile.power is off"
    kind = _KINDS.get(device, ("",))[0]
    reasons = [part.reason for node in record.monitors for part in node.energy if part.kind == kind and part.reason]
    if reasons:
        return "; ".join(dict.fromkeys(reasons))
    return "no power windows: no readable power sensor was found" if record.monitors else "the node was not monitored"


class GpuFacts(NamedTuple):
    """What the monitor read from the first GPU at the start of a run; None is unknown."""

    driver: str | None = None
    power_limit_w: float | None = None


def gpu_facts(timeline: Timeline) -> GpuFacts:
    """Return the driver and the power limit of the first GPU that the monitor read; nothing without GPUs."""
    facts: object = timeline.facts  # any content
    sources = facts.values() if isinstance(facts, dict) else ()
    listed = [source.get("gpus") for source in sources if isinstance(source, dict)]
    gpus = [gpu for each in listed if isinstance(each, list) for gpu in each if isinstance(gpu, dict)]
    driver = next((str(gpu["driver"]) for gpu in gpus if gpu.get("driver")), None)
    return GpuFacts(driver, _positive(gpus[0].get("power_limit_w")) if gpus else None)


def _positive(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < math.inf else None


def has_readings(row: OperatorRow) -> bool:
    """Return whether a row has a stretch of time for which the timeline shows power or clocks."""
    return row.window_start_s is not None or row.measured_start_s is not None


def readings(record: Record, timeline: Timeline, row: OperatorRow, no_window: str) -> WindowReadings:
    """Return the readings of the device of `row` in its power window, with the reason if its power is unknown.

    Without a power window, `no_window` is the reason, and there are the clocks during the measurement of the row.
    """
    start_s, end_s, calls = row.window_start_s, row.window_end_s, row.window_calls
    if start_s is None or end_s is None or not end_s > start_s:
        return replace(_clocks_of_measurement(timeline, row), power_reason=no_window)
    try:
        node = MonitorSummary(timeline.host, end_s - start_s, energy.of_window(timeline, start_s, end_s))
        parts = [parts_of(record, node, kind) for kind in _KINDS.get(row.device, ())]
        seen = _clocks(timeline, row.device, start_s, end_s)
    except (LookupError, TypeError, ValueError, AttributeError):  # the timeline may have any content
        return without_power("the timeline of the monitor is damaged")
    waited = _waited(row, end_s - start_s)
    if waited:
        return replace(seen, power_reason=waited)
    measured = [part for part in parts if part and all(each.joules is not None for each in part)]
    if not measured or measured[0] is not parts[0]:
        return replace(seen, power_reason=_reason(parts[0] if parts else [], row.device))
    joules = math.fsum(each.joules or 0.0 for part in measured for each in part)
    # Added linearly, since errors of sensors may be systematic.
    uncertainty_j = math.fsum(each.uncertainty_j or 0.0 for part in measured for each in part)
    return replace(
        seen,
        power_w=joules / (end_s - start_s),
        power_uncertainty_w=uncertainty_j / (end_s - start_s),
        power_scope="+".join(part[0].kind for part in measured),
        energy_per_call_j=joules / calls if calls else None,
        energy_uncertainty_j=uncertainty_j / calls if calls else None,
    )


def _clocks_of_measurement(timeline: Timeline, row: OperatorRow) -> WindowReadings:
    """Return the clocks during the measurement of the whole step; nothing for other rows, and if they are unknown."""
    start_s, end_s = row.measured_start_s, row.measured_end_s
    if start_s is None or end_s is None:
        return WindowReadings()
    try:
        seen = _clocks(timeline, row.device, start_s, end_s)
    except (LookupError, TypeError, ValueError, AttributeError):  # the timeline may have any content
        return WindowReadings()
    return replace(seen, temperature_c=None, throttle_reasons=None)


def _waited(row: OperatorRow, window_s: float) -> str | None:
    """Return why the power of a window is not that of its operator; None if it is.

    Python launches short kernels of a GPU more slowly than the GPU runs them. A whole step is like this in reality.
    """
    if row.device != "gpu" or row.kind == NETWORK or not row.window_calls or not row.hot_s:
        return None
    ratio = window_s / row.window_calls / row.hot_s
    if ratio <= WAITED:
        return None
    return f"the GPU waited for launches: a call in the power window took {ratio:.2g} times as long as its hot time"


def _reason(parts: Sequence[Energy], device: str) -> str:
    reasons = dict.fromkeys(f"{part.domain}: {part.reason}" for part in parts if part.reason)
    return "; ".join(reasons) or f"the {device} has no power sensor"


def _clocks(timeline: Timeline, device: str, start_s: float, end_s: float) -> WindowReadings:
    """Return clocks, temperature and throttling of the first GPU of the run, or the clock of its CPUs."""

    def values(column: str) -> list[float]:
        return [value for value in timeline.values(column, start_s, end_s) if math.isfinite(value)]

    if device != "gpu":
        clocks = values("cpu.clock_mean_khz")
        return WindowReadings(cpu_clock_mhz=_mean(clocks, 1e-3), clock_moved=_moved(clocks))
    clocks, bits = values("gpu0.clock_sm_mhz"), values("gpu0.throttle_reasons")
    return WindowReadings(
        sm_clock_mhz=_mean(clocks),
        memory_clock_mhz=_mean(values("gpu0.clock_memory_mhz")),
        clock_moved=_moved(clocks),
        temperature_c=max(values("gpu0.temperature_c"), default=None),
        throttle_reasons=_throttled(bits) if bits else None,
    )


def _mean(values: Sequence[float], factor: float = 1.0) -> float | None:
    return factor * fmean(values) if values else None


def _moved(clocks: Sequence[float]) -> bool | None:
    """Return whether a clock moved; None if fewer than two readings show it."""
    return max(clocks) - min(clocks) > CLOCK_TOLERANCE * fmean(clocks) if len(clocks) > 1 else None


def _throttled(bits: Sequence[float]) -> str:
    return ", ".join(name for bit, name in _THROTTLED.items() if any(int(each) & bit for each in bits))
