"""Electrical power during the measurements of runs, from the timelines of the monitors of a sweep.

The parts are those of the energy columns of a record (energy.py). Their power is read from a power sensor, if there is
one; otherwise it is the increase of the energy counter in equal intervals over their length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.collect.energy import parts_of
from hpcbench.collect.power.timelines import Run, ahead_s, timelines_of
from hpcbench.core.energy import KINDS
from hpcbench.core.record import Record
from hpcbench.node.monitor import energy
from hpcbench.node.monitor.power_sensors import SENSORS, Meter
from hpcbench.node.monitor.timeline import Timeline
from hpcbench.store.workspace import SweepPaths

COLUMNS = ["run", "host", "part", "at_s", "watts"]
MOST_POINTS = 500  # points per part
MARGIN_S = 1.0  # before the first measurement and after the last one

Floats = NDArray[np.float64]


def power_over_time(paths: SweepPaths, records: Iterable[Record]) -> pd.DataFrame:
    """Return a row with COLUMNS per reading or interval: W of a part such as gpu0, at s since the first measurement.

    Parts without a meter and missing or damaged timelines are omitted. Each file is read once.
    """
    metered = [record for record in records if record.measurements and _metered(record)]
    frames: list[pd.DataFrame] = []
    for record, run in timelines_of(paths, metered):
        with suppress(Exception):  # damaged timelines must not prevent a report of the measurements
            frames += [frame for frame in _of_record(record, run) if len(frame)]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS)


def _metered(record: Record) -> list[tuple[str, str, str]]:
    """Return host, source and domain of each part with metered energy."""
    parts = [
        (node.host, part.source, part.domain)
        for node in record.monitors
        for kind in KINDS
        for part in parts_of(record, node, kind)
    ]
    return [(host, source, domain) for host, source, domain in parts if source]


def _of_record(record: Record, run: Run) -> Iterator[pd.DataFrame]:
    """Yield the power of each meter of a record, on the clock of rank 0's node, as are the measurements."""
    if not record.measurements:
        return
    start_s, end_s = record.measurements.windows[0].start_s, record.measurements.windows[-1].end_s
    own_host = record.ranks[0].host
    for host, source, domain in _metered(record):
        clock_s = ahead_s(run[own_host], run[host]) if host in run else None
        meter = energy.meter_of(run[host], source, domain) if clock_s is not None else None
        if meter is None or clock_s is None:
            continue
        began_s = start_s + clock_s
        times, watts = _watts(run[host], meter, began_s - MARGIN_S, end_s + clock_s + MARGIN_S)
        yield pd.DataFrame(dict(zip(COLUMNS, (record.run, host, domain, times - began_s, watts), strict=True)))


def _watts(seen: Timeline, meter: Meter, start_s: float, end_s: float) -> tuple[Floats, Floats]:
    if meter.power and seen.has(meter.power):
        times, watts = _readings(seen, meter.power, start_s, end_s)
        return _thinned(times, watts) if times.size > MOST_POINTS else (times, watts)
    if meter.counter and meter.counter_sensor in SENSORS:
        return _gained(seen, meter, *_readings(seen, meter.counter, start_s, end_s))
    return np.empty(0), np.empty(0)


def _readings(seen: Timeline, column: str, start_s: float, end_s: float) -> tuple[Floats, Floats]:
    """Return times in s and values of the valid readings between two times."""
    series = seen.around(column, start_s, end_s)
    times, values = np.asarray(series.times_s, dtype=np.float64), np.asarray(series.values, dtype=np.float64)
    good = (times >= start_s) & (times <= end_s) & np.isfinite(values) & (values >= 0)
    return times[good], values[good]


def _thinned(times: Floats, watts: Floats) -> tuple[Floats, Floats]:
    """Return the means of times and watts over MOST_POINTS equal intervals, without empty ones."""
    places = (MOST_POINTS * (times - times[0]) / (times[-1] - times[0])).astype(int).clip(max=MOST_POINTS - 1)
    counts = np.bincount(places)
    there = counts > 0
    times, watts = (np.bincount(places, values)[there] / counts[there] for values in (times, watts))
    return times, watts


def _gained(seen: Timeline, meter: Meter, times: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Return centre and rate in W of equal intervals, longer than the counter's period and without its resets."""
    if times.size < 2:
        return np.empty(0), np.empty(0)
    shortest_s = energy.NEEDED * SENSORS[meter.counter_sensor].period_s
    number = min(MOST_POINTS, times.size - 1, int((times[-1] - times[0]) / shortest_s))
    edges = np.linspace(times[0], times[-1], number + 1)
    watts = meter.joules * np.diff(np.interp(edges, times, counts)) / np.diff(edges)
    good = watts >= 0
    if meter.resets:
        falls: Any = [seen.increase(meter.resets, *ends) for ends in pairwise(edges)]
        good &= np.array([not fell for fell in falls], dtype=bool)
    return ((edges[:-1] + edges[1:]) / 2)[good], watts[good]
