"""The measurements of runs over time, and the windows with interference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.core.record import Record
from hpcbench.core.samples import Samples

SAMPLE_COLUMNS = ["run", "at_s", "time_s"]
WINDOW_COLUMNS = ["run", "start_s", "end_s", "causes"]


def samples_over_time(records: Iterable[Record]) -> pd.DataFrame:
    """Return a row per measurement: `at_s`, its start in s after the first one of the run, and `time_s`, the step time.

    Samples that are not valid times are omitted.
    """
    frames = [_timed(record.run, record.measurements) for record in records if record.measurements]
    frames = [frame for frame in frames if len(frame)]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=SAMPLE_COLUMNS)


def interference_windows(records: Iterable[Record]) -> pd.DataFrame:
    """Return a row per series of windows with interference of the same causes, such as `cpu, memory`.

    `start_s` and `end_s` are in s since the run's first measurement. Unmonitored windows are omitted.
    """
    rows = [row for record in records for row in _interference(record)]
    return pd.DataFrame(rows, columns=WINDOW_COLUMNS)


def _timed(repetition: int, samples: Samples) -> pd.DataFrame:
    times = np.asarray(samples.times_s, dtype=np.float64)
    starts, first = [], 0
    for start_s, end_s, count in samples.windows:
        lengths = times[first : first + count]
        starts.append(start_s - _began_s(samples) + (end_s - start_s) * _parts_before(lengths))
        first += count
    at = np.concatenate(starts) if starts else times[:0]
    times = times[: at.size]
    known = np.isfinite(times) & (times >= 0)
    return pd.DataFrame({"run": repetition, "at_s": at[known], "time_s": times[known]})


def _parts_before(lengths: Any) -> Any:
    """Return the start of each measurement of a window, as a fraction of the window."""
    if not (lengths >= 0).all() or not 0 < lengths.sum() < np.inf:
        lengths = np.ones_like(lengths)
    return (np.cumsum(lengths) - lengths) / lengths.sum()


def _interference(record: Record) -> Iterator[dict[str, Any]]:
    if not record.measurements or not record.interference:
        return
    judged = zip(record.measurements.windows, record.interference.windows, strict=False)
    for causes, windows in groupby(judged, key=lambda pair: _in_words(pair[1])):
        stretch = [window for window, _ in windows]
        if causes:
            began_s = _began_s(record.measurements)
            start_s, end_s = stretch[0].start_s - began_s, stretch[-1].end_s - began_s
            yield dict(zip(WINDOW_COLUMNS, (record.run, start_s, end_s, causes), strict=True))


def _in_words(evidence: Mapping[str, float] | None) -> str:
    """Return the distinct causes of interference in a window, e.g. `cpu, memory`; empty without any."""
    return ", ".join(sorted({cause for causes in evidence or () for cause in causes.split(",")}))


def _began_s(samples: Samples) -> float:
    return samples.windows[0].start_s
