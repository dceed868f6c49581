"""Find the timelines of the monitors that belong to the records of a sweep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from hpcbench.collect.record_place import possible_files
from hpcbench.core.record import Record
from hpcbench.node.monitor import timeline
from hpcbench.node.monitor.timeline import Timeline
from hpcbench.node.results.record_writer import timelines_beside
from hpcbench.store.workspace import SweepPaths

Run = dict[str, Timeline]  # the timelines of one attempt at a run, by host


def timelines_of(paths: SweepPaths, records: Iterable[Record]) -> Iterator[tuple[Record, Run]]:
    """Yield each record with measurements whose timelines are found, including that of its rank 0's node.

    Damaged files are omitted. Each file is read once.
    """
    by_file: dict[Path, list[Record]] = {}
    for record in records:
        if record.measurements and record.measurements.windows and record.ranks:
            by_file.setdefault(_file(paths, record), []).append(record)
    for path, its in by_file.items():
        found: list[Run | None] = []
        with suppress(Exception):  # another user may have written the file
            runs = _read(path, its)
            found = [_run_of(record, runs) for record in its]
        yield from ((record, run) for record, run in zip(its, found, strict=False) if run)


def _run_of(record: Record, runs: dict[str, Run]) -> Run | None:
    windows = record.measurements.windows if record.measurements else ()
    host = record.ranks[0].host
    for name, run in runs.items():
        if _may_be_of(name, record) and host in run and _saw(run[host], windows[0].start_s, windows[-1].end_s):
            return run
    return None


def _file(paths: SweepPaths, record: Record) -> Path:
    """Return the file with the timelines of a record's job."""
    candidates = [Path(timelines_beside(str(file))) for file in possible_files(paths, record)]
    return next((file for file in candidates if file.exists()), candidates[-1])


def _read(path: Path, records: list[Record]) -> dict[str, Run]:
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


def _saw(seen: Timeline, start_s: float, end_s: float) -> bool:
    """Return whether a timeline covers the measurements. After a reboot it does not, because its clock differs."""
    spans = filter(None, map(seen.span, seen.columns))
    return any(first_s <= start_s and end_s <= last_s for first_s, last_s in spans)


def ahead_s(own: Timeline, other: Timeline) -> float | None:
    """Return the seconds that the clock of `other` is ahead, by the common end of monitors; None if unknown."""
    if other is own:
        return 0.0
    return other.ended["ended_s"] - own.ended["ended_s"] if own.ended and other.ended else None
