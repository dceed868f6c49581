"""The metrics of `hpcbench reparse` over the records of a sweep, which stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.metrics.kept_output import key_of
from hpcbench.core.record import Error, MetricValue, Record
from hpcbench.errors import UserError
from hpcbench.node.results import record_writer
from hpcbench.store import reparsed
from hpcbench.store.records import RecordFiles, read_later, read_records
from hpcbench.store.reparsed import Definitions, Reparsed
from hpcbench.store.workspace import SweepPaths

DEFINITIONS = Definitions({"rate": {"regex": "(.)"}}, ["done"])


def outcome(record: Record, **changes: Any) -> Reparsed:
    metrics = {"rate": MetricValue(5.0, "it/s", "higher")}
    fields = {"status": "completed", "error": None, "metrics": metrics, "warnings": ["w"], **changes}
    return Reparsed(**key_of(record)._asdict(), **fields)


@pytest.fixture
def records(paths: SweepPaths, make_record: Callable[..., Record]) -> list[Record]:
    made = [make_record(case) for case in range(2)]
    record_writer.append_all(made, str(paths.local_records("job-1")))
    return made


def test_records_are_read_with_the_outcomes_and_stay_as_they_are(paths: SweepPaths, records: list[Record]) -> None:
    before = paths.local_records("job-1").read_bytes()
    failed = outcome(records[1], status="failed", error=Error("expect", "no"), metrics=None)
    reparsed.write(paths, DEFINITIONS, [outcome(records[0]), failed])
    first, second = read_records(paths).records
    assert (first.status, first.metrics, first.warnings) == (
        "completed",
        {"rate": MetricValue(5.0, "it/s", "higher", values=[], steps=[])},
        ["w"],
    )
    assert (second.status, second.error_message, second.metrics) == ("failed", "no", None)
    assert first.measurements == records[0].measurements
    assert read_later(paths, RecordFiles()) == [first, second]
    assert read_records(paths, original=True).records == records
    assert paths.local_records("job-1").read_bytes() == before
    assert reparsed.read(paths).definitions == DEFINITIONS


def test_an_outcome_is_of_one_attempt(paths: SweepPaths, records: list[Record]) -> None:
    other = outcome(records[0]).__dict__ | {"started_at": "2026-01-01T00:00:00.000+00:00"}
    reparsed.write(paths, DEFINITIONS, [Reparsed(**other)])
    assert read_records(paths).records == records


def test_a_run_that_did_not_complete_has_no_times_in_tables(paths: SweepPaths, records: list[Record]) -> None:
    reparsed.write(paths, DEFINITIONS, [outcome(records[0], status="failed", error=Error("expect", "no"))])
    first, second = read_records(paths).records
    assert (list(first.times_s), first.verdict) == ([], None)
    assert first.measurements is not None
    assert second.times_s == records[1].times_s != ()


@pytest.mark.parametrize("line", ["{", "[]", '{"job": 1}', "\ud800"])
def test_damaged_lines_are_reported(line: str, paths: SweepPaths, records: list[Record]) -> None:
    reparsed.write(paths, DEFINITIONS, [outcome(records[0])])
    with paths.reparsed.open("ab") as file:
        file.write(line.encode("utf-8", "surrogatepass") + b"\n")
    found = read_records(paths)
    assert len(found.records) == 2
    (damaged,) = found.damaged
    assert damaged.startswith(f"{paths.reparsed}:3 (")


def test_a_status_that_does_not_exist_is_damage(paths: SweepPaths, records: list[Record]) -> None:
    reparsed.write(paths, DEFINITIONS, [outcome(records[0], status="glorious")])
    found = read_records(paths)
    assert found.records == records
    assert len(found.damaged) == 1


def test_a_file_of_another_version_is_an_error(
    paths: SweepPaths, records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reparsed, "SCHEMA", 99)
    reparsed.write(paths, DEFINITIONS, [])
    monkeypatch.undo()
    with pytest.raises(UserError, match="another version of hpcbench") as caught:
        read_records(paths)
    assert caught.value.hint == "hpcbench reparse sweep-1 --undo"


def test_the_file_is_replaced_as_a_whole(paths: SweepPaths, records: list[Record], tmp_path: Path) -> None:
    reparsed.write(paths, DEFINITIONS, [outcome(records[0])])
    reparsed.write(paths, DEFINITIONS, [outcome(records[1])])
    assert list(reparsed.read(paths).outcomes) == [key_of(records[1])]
    assert not list(tmp_path.rglob("*.part"))
