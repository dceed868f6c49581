"""The clock of the GPUs of a run during its measurements, as their monitor read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hpcbench.collect.energy import gpus_given
from hpcbench.core.record import MonitorSummary, Record

CLOCK = "gpu_clock_mhz"


def gpu_clock_mhz(record: Record) -> float | None:
    """Return the mean SM clock of the GPUs that a case used, from the first measurement to the last; None if unknown.

    It is a mean over readings ten times per second, and over GPUs.
    """
    if record.parameters.get("device") != "gpu":
        return None
    clocks = [clock for node in record.monitors for clock in _of_node(node, gpus_given(record, node.host))]
    return sum(clocks) / len(clocks) if clocks else None


def _of_node(node: MonitorSummary, count: int) -> Iterator[float]:
    """Yield the mean clock of each of the first `count` GPUs of a node: the job sees them in this order."""
    for index in range(count):
        clock = _mean((node.usage or {}).get(f"gpu{index}.clock_sm_mhz"))
        if clock is not None:
            yield clock


def _mean(gauge: Any) -> float | None:
    """Return the mean of minimum, mean and maximum of a gauge; None if a record has something else."""
    if not isinstance(gauge, list) or len(gauge) != 3 or not isinstance(gauge[1], int | float):
        return None
    return float(gauge[1])
