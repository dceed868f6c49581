"""Read record files: one JSON line per run."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, get_type_hints

from hpcbench.core import status
from hpcbench.core.frameworks import OPERATOR
from hpcbench.core.record import SCHEMA, Record
from hpcbench.core.run_spec import COMMAND, JOB_NAME
from hpcbench.core.samples import INTERFERENCE, THROTTLING, TOO_MANY
from hpcbench.core.typed_json import MAX_INT, MIN_INT, InvalidError, from_json
from hpcbench.core.used_parameters import UsedParameters
from hpcbench.errors import UserError
from hpcbench.store.workspace import SweepPaths
from hpcbench.util.bounded_read import lines
from hpcbench.util.fast_json import decoded

_NUMBER = re.compile(r"[0-9]{1,18}\Z")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LIMITS: Mapping[Any, Any] = {"int": {"ge": MIN_INT, "le": MAX_INT}}  # of pydantic
MANY_BYTES = 2 * 2**20  # of record files: from here on it pays to prepare a decoder that takes half as long
RECONCILED = "reconciled.jsonl"  # written by hpcbench for runs that ended without a record


@dataclass
class RecordFiles:
    """The records of a sweep, and the lines that are not valid records, as FILE:LINE with the error if known."""

    records: list[Record] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    sizes: dict[Path, int] = field(default_factory=dict)  # bytes of the whole lines read of each file


def read_records(paths: SweepPaths, *, many: bool = False, original: bool = False) -> RecordFiles:
    """Return all records of a sweep, with the metrics of `hpcbench reparse` unless `original` is set.

    Lines that are not valid records are listed as damaged. Set `many` if other sweeps are read, too: then it pays to
    prepare a faster decoder. Raise UserError if a record has a schema that this version cannot read.
    """
    found, files = RecordFiles(), list(record_files(paths))
    many = many or sum(path.stat().st_size for path in files) > MANY_BYTES
    for path in files:
        seen: set[bytes] = set()
        line = b""
        with path.open("rb") as file:
            for number, line in enumerate(lines(file), 1):
                if line in seen:  # a file system that repeats a write
                    continue
                seen.add(line)
                _add(found, line, f"{path}:{number}", many)
            found.sizes[path] = file.tell() - (len(line) if _is_torn(file) else 0)
    return found if original else _with_reparsed_metrics(paths, found)


def _with_reparsed_metrics(paths: SweepPaths, found: RecordFiles) -> RecordFiles:
    """Return the records with the metrics of `hpcbench reparse`, if there are any."""
    if not paths.reparsed.exists():
        return found
    from hpcbench.store import reparsed

    overlay = reparsed.read(paths)
    return replace(found, records=overlay.applied(found.records), damaged=[*found.damaged, *overlay.damaged])


def _is_torn(file: BinaryIO) -> bool:
    """Return whether the line that was read last has no line end: another process may still be writing it."""
    end = file.tell()
    file.seek(max(0, end - 1))
    return end > 0 and file.read(1) != b"\n"


def _add(found: RecordFiles, line: bytes, place: str, is_one_of_many: bool) -> None:
    try:
        record = _quickly_decoded(line) if is_one_of_many else None
        if record is not None:
            found.records.append(_checked(record))
            return
        data = _parsed(line)
        if data is None:
            found.damaged.append(place)
        elif data["schema"] == SCHEMA:
            found.records.append(checked_record(data))
        else:
            what = f"the record has schema {data['schema']}, and this hpcbench reads {SCHEMA}"
            raise UserError(what, where=place, hint=f"read it with hpcbench {data.get('hpcbench_version')}")
    except InvalidError as error:
        found.damaged.append(f"{place} ({error})")


def _quickly_decoded(line: bytes) -> Record | None:
    """Return the record in a line; None if the line has none, or has to be checked field by field."""
    try:
        record: Record = _quick_decoder()(line, strict=True)
    except ValueError:
        return None
    return record if record.schema == SCHEMA and not _SURROGATE.search(line) else None


@lru_cache(maxsize=1)
def _quick_decoder() -> Callable[..., Record]:
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

    return SchemaValidator(_strict(TypeAdapter(Record).core_schema)).validate_json


def _strict(schema: Any) -> Any:
    """Return a schema of pydantic-core that refuses what `typed_json` refuses: integers of more than 64 bits, and an
    object for a named tuple."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("cls") or schema.get("function")  # before pydantic 2.14, a function made a named tuple
    if isinstance(kind, type) and issubclass(kind, tuple):
        return _of_named_tuple(kind, schema.get("ref"))
    return {name: _strict(each) for name, each in schema.items()} | _LIMITS.get(schema.get("type"), {})


def _of_named_tuple(kind: Any, ref: str | None) -> Any:
    from pydantic import TypeAdapter
    from pydantic_core import core_schema

    fields = [_strict(TypeAdapter(hint).core_schema) for hint in get_type_hints(kind).values()]
    return core_schema.no_info_after_validator_function(kind._make, core_schema.tuple_schema(fields), ref=ref)


def checked_record(data: Mapping[str, Any]) -> Record:
    """Return the record that JSON of the current schema holds.

    Raise InvalidError with the first field that is missing, of another type, or without meaning.
    """
    return _checked(from_json(Record, data))


def _checked(record: Record) -> Record:
    """Return the record if its values are valid. Raise InvalidError with the first value that is not."""
    parameters = from_json(UsedParameters, record.parameters, "parameters")
    for name in ("job", "batch"):  # they become components of paths
        if not JOB_NAME.match(getattr(record, name)):
            raise InvalidError(name, " is not a valid name")
    times = {"started_at": record.started_at, "ended_at": record.ended_at}
    times |= {f"ranks[{place}].ended_at": rank.ended_at for place, rank in enumerate(record.ranks)}
    for name, time in times.items():
        if not _is_time(time):
            raise InvalidError(name, " is not a time with a zone")
    for name in ("array_job_id", "array_task_id", "restart_count"):
        if not _NUMBER.match(record.slurm.get(name, "0")):
            raise InvalidError(f"slurm.{name}", " is not a number")
    if "array_job_id" in record.slurm and "array_task_id" not in record.slurm:
        raise InvalidError("slurm.array_task_id", " is missing")
    if parameters.batch_size is None and parameters.framework != COMMAND and parameters.task != OPERATOR:
        raise InvalidError("parameters.batch_size", " is null")
    return record


def _is_time(text: str) -> bool:
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return time.tzinfo is not None and datetime.MINYEAR < time.year < datetime.MAXYEAR  # in other zones, too


def first_record(paths: SweepPaths) -> Mapping[str, Any] | None:
    """Return the first readable record of any schema as JSON, or None.

    A record that hpcbench reconciled later is returned only if there is no other.
    """
    for path in sorted(record_files(paths), key=lambda path: path.name == RECONCILED):
        with path.open("rb") as file:
            for line in lines(file):
                data = _parsed(line)
                if data is not None and (data["schema"] != SCHEMA or _record_of(data)):
                    return data
    return None


def read_later(paths: SweepPaths, found: RecordFiles) -> list[Record]:
    """Return the records that were written after those of `found` were read."""
    later = [record for path in record_files(paths) for record in read_file(path, found.sizes.get(path, 0))]
    return _with_reparsed_metrics(paths, RecordFiles(later)).records


def read_file(path: Path, start: int = 0) -> list[Record]:
    """Return the valid records in a file from byte `start` on; none if the file does not exist."""
    try:
        if path.stat().st_size <= start:
            return []
        with path.open("rb") as file:
            file.seek(start)
            found = (_record_of(_parsed(line)) for line in lines(file))
            return [record for record in found if record is not None]
    except FileNotFoundError:
        return []


def in_order(records: Iterable[Record]) -> list[Record]:
    """Return the records of one run, the latest last.

    The order is that of job ids, of restarts, and of writing: the clocks of two nodes may differ. The record of a
    Slurm job is later than the reconciled record of the same job. If two processes reconciled the same job on a file
    system without locks, the first record counts.
    """
    made_up: set[tuple[str | None, str | None]] = set()
    once = []
    for record in records:
        job = record.slurm.get("array_job_id"), record.slurm.get("array_task_id")
        if record.attempt is None and job[0] is not None:
            if job in made_up:
                continue
            made_up.add(job)
        once.append(record)
    return sorted(once, key=_place_in_time)


def _place_in_time(record: Record) -> tuple[int, bool, int]:
    slurm = record.slurm
    made_by_job = bool(slurm) and record.attempt is not None
    return int(slurm.get("array_job_id") or 0), made_by_job, int(slurm.get("restart_count") or 0)


def best_attempt(ordered: list[Record]) -> Record | None:
    """Return the record that counts for a run, or None without records.

    It is the last completed one without interference, otherwise the last completed one, otherwise the last one.
    """
    completed = [record for record in ordered if record.status == status.COMPLETED]
    chosen = [record for record in completed if not has_interference(record)] or completed or ordered
    return chosen[-1] if chosen else None


def has_interference(record: Record) -> bool:
    """Return whether other processes used the machine during the run (interference)."""
    return record.verdict == INTERFERENCE


def interference_causes(record: Record) -> str | None:
    """Return the causes of the interference, for example `cpu, memory`, or None without interference."""
    if record.interference is None or not has_interference(record):
        return None
    return ", ".join(dict.fromkeys(cause for found in record.interference.found for cause in found.causes))


def is_throttled(record: Record) -> bool:
    """Return whether a CPU quota, heat or a power brake slowed a run down in more than TOO_MANY of its windows.

    Only monitored windows count, also if they are too few for a verdict.
    """
    if record.interference is None:
        return False
    monitored = sum(window is not None for window in record.interference.windows)
    throttled = [found.windows for found in record.interference.found if THROTTLING in found.causes]
    return max(throttled, default=0) > TOO_MANY * monitored


def record_files(paths: SweepPaths) -> Iterator[Path]:
    """Yield the record files of a sweep."""
    yield from sorted(paths.records.glob("*.jsonl"))
    yield from sorted(paths.records.glob("*/*.jsonl"))


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        data = decoded(line)
        if _SURROGATE.search(line):
            data = _in_unicode(data)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and {"schema", "status"} <= data.keys() else None


def _in_unicode(data: Any) -> Any:
    """Return JSON with `?` for half a surrogate pair, which cannot be encoded as UTF-8.

    Messages have them after output that is not UTF-8.
    """
    return json.loads(json.dumps(data, ensure_ascii=False).encode(errors="replace"))


def _record_of(data: dict[str, Any] | None) -> Record | None:
    """Return the record that JSON holds, or None if it is not a valid record of the current schema."""
    try:
        return None if data is None or data["schema"] != SCHEMA else checked_record(data)
    except InvalidError:
        return None


def span_s(record: Record) -> tuple[float, float]:
    """Return when a run started and when it ended, in seconds since the epoch."""
    started, ended = map(datetime.datetime.fromisoformat, (record.started_at, record.ended_at))
    return started.timestamp(), ended.timestamp()


def has_log(record: Record) -> bool:
    """Return whether the job of a record has printed anything: a job that Slurm never started has not."""
    return record.attempt is not None or bool(record.error and record.error.last_lines)


def array_of(record: Record) -> str | None:
    """Return the id of the Slurm array that wrote a record, or None for a local run."""
    return record.slurm.get("array_job_id")


def index_of(record: Record) -> int | None:
    """Return the array index of the Slurm job that wrote a record, or None for a local run."""
    index = record.slurm.get("array_task_id")
    return int(index) if index is not None else None
