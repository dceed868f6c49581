"""The result of each function of NVML that hpcbench calls, as evidence for what later steps cannot measure."""

from __future__ import annotations

import json
from typing import Any

from .bench import Bench
from .steps import Outcome, judged

REQUIRED = (
    "nvmlDeviceGetName",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetCudaComputeCapability",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetTotalEnergyConsumption",
    "temperature_c",
    "clock_sm_mhz",
    "clock_memory_mhz",
    "utilisation_percent",
    "memory_used_bytes",
    "processes",
    "fields",
)
REASONS = ("nvmlDeviceGetCurrentClocksThrottleReasons", "nvmlDeviceGetCurrentClocksEventReasons")


def nvml(bench: Bench, deadline_s: float) -> Outcome:
    """Call each function of NVML that hpcbench calls."""
    done = bench.run(bench.program("probe", "once"), deadline_s)
    lines = [line for line in done.output.splitlines() if line.startswith("{")]
    if done.status != 0 or not lines:
        return judged([], [f"NVML cannot be used: {done.last_line}"])
    return of_functions(json.loads(lines[-1]))


def of_functions(found: dict[str, Any]) -> Outcome:
    """Return whether each function returns a value. Of the functions that were renamed, one is enough."""
    problems = [f"{name}: {_error(found, name)}" for name in REQUIRED if _error(found, name)]
    if all(_error(found, name) for name in REASONS):
        problems.append(f"throttle reasons: {_error(found, REASONS[0])}")
    fields = found.get("fields")
    for name, (code, kind, _) in fields.items() if isinstance(fields, dict) and "error" not in fields else ():
        if code:
            problems.append(f"field {name}: return code {code}, type {kind}")
    return judged([f"{name} = {json.dumps(value)}" for name, value in sorted(found.items())], problems)


def _error(found: dict[str, Any], name: str) -> str | None:
    value = found.get(name)
    if value is None:
        return "missing in this version of pynvml"
    return value["error"] if isinstance(value, dict) and "error" in value else None
