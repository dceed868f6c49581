"""The samples of repetitions over time, and the windows of samples in which others disturbed them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.core.record import Record
from hpcbench.core.samples import Samples

SAMPLE_COLUMNS = ["repetition", "at_s", "time_s"]
WINDOW_COLUMNS = ["repetition", "start_s", "end_s", "causes"]


def samples_over_time(records: Iterable[Record]) -> pd.DataFrame:
    """One row per sample: when it began, in seconds since the repetition's first, and the seconds of one of its steps.

    Nothing of a record without samples, nor of a sample that is no time.
    """
    frames = [_timed(record.repetition, record.samples) for record in records if record.samples]
    frames = [frame for frame in frames if len(frame)]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=SAMPLE_COLUMNS)


def disturbed_windows(records: Iterable[Record]) -> pd.DataFrame:
    """Return one row per stretch of windows that the same causes disturbed, such as `cpu, memory`, in seconds since the
    repetition's first sample. What nobody watched is not in it."""
    rows = [row for record in records for row in _disturbed(record)]
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
    return pd.DataFrame({"repetition": repetition, "at_s": at[known], "time_s": times[known]})


def _parts_before(lengths: Any) -> Any:
    """Return the fraction of a window that had passed when each of its samples began."""
    if not (lengths >= 0).all() or not 0 < lengths.sum() < np.inf:
        lengths = np.ones_like(lengths)
    return (np.cumsum(lengths) - lengths) / lengths.sum()


def _disturbed(record: Record) -> Iterator[dict[str, Any]]:
    if not record.samples or not record.interference:
        return
    judged = zip(record.samples.windows, record.interference.windows, strict=False)
    for causes, windows in groupby(judged, key=lambda pair: _in_words(pair[1])):
        stretch = [window for window, _ in windows]
        if causes:
            began_s = _began_s(record.samples)
            start_s, end_s = stretch[0].start_s - began_s, stretch[-1].end_s - began_s
            yield dict(zip(WINDOW_COLUMNS, (record.repetition, start_s, end_s, causes), strict=True))


def _in_words(evidence: Mapping[str, float] | None) -> str:
    """Return the causes in a window, e.g. `cpu,memory`; causes that no counter separates count as one."""
    return ", ".join(sorted({cause for causes in evidence or () for cause in causes.split(",")}))


def _began_s(samples: Samples) -> float:
    return samples.windows[0].start_s
