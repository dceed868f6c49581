"""Electrical power during the measurements of runs, from the timelines of the monitors of a sweep.

The parts are those of the energy columns of a record (energy.py). Their power is read from a power sensor, if there is
one; otherwise it is the increase of the energy counter in equal intervals over their length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.collect.energy import parts_of
from hpcbench.core.energy import KINDS
from hpcbench.core.record import Record
from hpcbench.core.run_spec import JOB_NAME
from hpcbench.node.monitor import energy, timeline
from hpcbench.node.monitor.power_sensors import SENSORS, Meter
from hpcbench.node.monitor.timeline import Timeline
from hpcbench.node.results.record_writer import timelines_beside
from hpcbench.store.records import RECONCILED
from hpcbench.store.workspace import SweepPaths

COLUMNS = ["run", "host", "part", "at_s", "watts"]
MOST_POINTS = 500  # points per part
MARGIN_S = 1.0  # before the first measurement and after the last one

Floats = NDArray[np.float64]
Run = dict[str, Timeline]  # the timelines of one attempt at a run, by host


def power_over_time(paths: SweepPaths, records: Iterable[Record]) -> pd.DataFrame:
    """Return a row with COLUMNS per reading or interval: W of a part such as gpu0, at s since the first measurement.

    Parts without a meter and missing or damaged timelines are omitted. Each file is read once.
    """
    by_file: dict[Path, list[Record]] = {}
    for record in records:
        if record.measurements and _metered(record):
            by_file.setdefault(_file(paths, record), []).append(record)
    frames: list[pd.DataFrame] = []
    for path, its in by_file.items():
        with suppress(Exception):  # damaged timelines must not prevent a report of the measurements
            runs = _runs(path, its)
            for record in its:
                frames += [frame for frame in _of_record(record, runs) if len(frame)]
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


def _file(paths: SweepPaths, record: Record) -> Path:
    """Return the file with the timelines of a record's job, with the names of templates/job.sh.j2."""
    slurm, batch = record.slurm, record.batch
    if record.attempt is None:
        return Path(timelines_beside(str(paths.records / batch / RECONCILED)))
    folder = ".".join(filter(None, (batch, slurm.get("restart_count"))))
    name = f"{slurm.get('array_job_id') or slurm.get('job_id')}_{slurm.get('array_task_id', 0)}"
    if JOB_NAME.match(folder) and JOB_NAME.match(name):  # records are untrusted: no path outside
        path = Path(timelines_beside(str(paths.records / folder / f"{name}.jsonl")))
        if path.exists():  # otherwise a local run, possibly within another job
            return path
    return Path(timelines_beside(str(paths.local_records(record.job))))


def _runs(path: Path, records: list[Record]) -> dict[str, Run]:
    """Return the timelines that may belong to one of these records, by name of the run and host."""
    found: dict[str, Run] = {}
    for seen in timeline.read_kept(
        str(path), lambda header: any(_may_be_of(str(header.get("run")), record) for record in records)
    ):
        found.setdefault(seen.run, {})[seen.host] = seen
    return found


def _may_be_of(run: str, record: Record) -> bool:
    """Return whether the run name ELEMENT-JOBID-RESTART-ATTEMPT matches the known numbers of a record."""
    parts = run.split("-")
    known = [str(record.element), record.slurm.get("job_id"), None, record.attempt]
    return len(parts) == len(known) and all(
        value is None or str(value) == part for value, part in zip(known, parts, strict=True)
    )


def _of_record(record: Record, runs: dict[str, Run]) -> Iterator[pd.DataFrame]:
    """Yield the power of each meter of a record, on the clock of rank 0's node, as are the measurements."""
    windows = record.measurements.windows if record.measurements else ()
    if not windows:
        return
    start_s, end_s = windows[0].start_s, windows[-1].end_s
    own_host = record.ranks[0].host
    for name, run in runs.items():
        if _may_be_of(name, record) and own_host in run and _saw(run[own_host], start_s, end_s):
            break
    else:
        return
    for host, source, domain in _metered(record):
        ahead_s = _ahead_s(run[own_host], run[host]) if host in run else None
        meter = energy.meter_of(run[host], source, domain) if ahead_s is not None else None
        if meter is None or ahead_s is None:
            continue
        began_s = start_s + ahead_s
        times, watts = _watts(run[host], meter, began_s - MARGIN_S, end_s + ahead_s + MARGIN_S)
        yield pd.DataFrame(dict(zip(COLUMNS, (record.run, host, domain, times - began_s, watts), strict=True)))


def _saw(seen: Timeline, start_s: float, end_s: float) -> bool:
    """Return whether a timeline covers the measurements. After a reboot it does not, because its clock differs."""
    spans = filter(None, map(seen.span, seen.columns))
    return any(first_s <= start_s and end_s <= last_s for first_s, last_s in spans)


def _ahead_s(own: Timeline, other: Timeline) -> float | None:
    """Return the seconds that the clock of `other` is ahead, by the common end of monitors; None if unknown."""
    if other is own:
        return 0.0
    return other.ended["ended_s"] - own.ended["ended_s"] if own.ended and other.ended else None


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
