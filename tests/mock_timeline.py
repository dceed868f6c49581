"""A timeline as the monitor of a node with sensors writes it: no machine of ours has these, so they are made up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hpcbench.node.monitor import timeline
from hpcbench.node.monitor.power_sensors import Meter
from hpcbench.node.monitor.timeline import Writer

CPU = Meter("cpu0", counter="rapl.cpu0_uj", joules=1e-6, resets="rapl.cpu0_resets", counter_sensor="rapl")
MEMORY = Meter("dram0", counter="rapl.dram0_uj", joules=1e-6, resets="rapl.dram0_resets", counter_sensor="rapl")
GPU = Meter(
    "gpu0",
    counter="gpu0.energy_mj",
    joules=1e-3,
    resets="gpu0.energy_resets",
    counter_sensor="nvidia hopper energy counter",
)
_SOURCES = {"cpu0": "rapl", "dram0": "rapl", "gpu0": "nvidia_energy"}
Reading = Callable[[float], float]


def write(
    kept: Path,
    watts: Mapping[Meter, Reading],
    gauges: Mapping[str, Reading] | None = None,
    *,
    run: str = "0-local-0-1",
    host: str = "n1",
    start_s: float = -5.0,
    end_s: float = 60.0,
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Append the timeline of a run to the file `kept`, with readings each 0.1 s of meters of this power, and gauges."""
    gauges = {"cpu.count": lambda _: 2.0, **(gauges or {})}
    columns = [name for meter in watts for name in (meter.counter, meter.resets) if name]
    meters: dict[str, dict[str, Any]] = {}
    for meter in watts:
        meters.setdefault(_SOURCES[meter.domain], {"meters": []})["meters"].append(meter._asdict())
    header = {
        "run": run,
        "host": host,
        "sources": {"all": [*columns, *gauges]},
        "gauges": list(gauges),
        "facts": {**meters, **(facts or {})},
        "absent": {} if meters else {"rapl": "no access to RAPL: made up"},
    }
    path = kept.with_name(timeline.file_name(host))
    kept.parent.mkdir(parents=True, exist_ok=True)
    writer = Writer(str(path), header)
    joules = dict.fromkeys(watts, 0.0)
    for time_s in np.arange(start_s, end_s, 0.1).tolist():
        values: list[float | None] = []
        for meter, power in watts.items():
            joules[meter] += 0.1 * power(time_s - 0.05)
            values += [joules[meter] / meter.joules, 0]
        writer.reading(0, time_s, [*values, *(gauge(time_s) for gauge in gauges.values())])
    writer.end({"ended_s": end_s})
    timeline.keep(str(path), str(kept))
    path.unlink()
