"""Record files are read whatever has happened to them; only an unknown schema is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcbench.collect.reconcile import write as write_reconciled
from hpcbench.collect.records import RECONCILED, read_element, read_records
from hpcbench.errors import UserError
from hpcbench.node import record as node_record
from hpcbench.node import verdict
from hpcbench.node.planned import PlannedRun
from hpcbench.submit.sweep import Sweep
from hpcbench.workspace import SweepPaths

Record = dict[str, Any]
MakeRecord = Callable[..., Record]


def put(path: Path, *lines: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def line(record: Record) -> bytes:
    return json.dumps(record).encode()


def test_records_of_all_jobs_are_read(paths: SweepPaths, make_record: MakeRecord) -> None:
    for case in range(4):
        node_record.append(make_record(case), str(paths.record(f"job-{case % 2}", case)))
    node_record.append(make_record(4, status="node_failure"), str(paths.records / RECONCILED))
    found = read_records(paths)
    assert sorted(record["case_index"] for record in found.records) == [0, 1, 2, 3, 4]
    assert found.damaged == []


@pytest.mark.parametrize("odd", ["\udcff", 10**30, float("inf"), 5e-324, -0.0, "\x00", "\U0001f600", [[[]]]])
def test_a_record_is_read_as_python_would_read_it(paths: SweepPaths, make_record: MakeRecord, odd: object) -> None:
    record = {**make_record(0), "tags": {"odd": odd}, "job": "job-0", "element": 0}
    node_record.append(record, str(paths.record("job-0", 0)))
    found = read_records(paths)
    assert (repr(found.records), found.damaged) == (repr([json.loads(json.dumps(record))]), [])


def test_a_sweep_without_records_has_none(paths: SweepPaths) -> None:
    assert read_records(paths).records == []
    assert read_element(paths, "job-1", 0) == []


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b'{"schema": 2, "status": "compl',
        b"\x00" * 4096,
        b"\xff\xfe\x00",
        b"null",
        b"[1, 2]",
        b'"completed"',
        b'{"schema": 2}',
        b"{}{}",
        b"[" * 100_000,
        b'{"schema": 2, "status": "completed"}',
    ],
    ids=["empty", "brace", "cut", "zeros", "binary", "null", "list", "text", "no status", "glued", "deep", "hollow"],
)
def test_a_damaged_line_is_counted_with_its_place_and_the_others_are_read(
    paths: SweepPaths, make_record: MakeRecord, damage: bytes
) -> None:
    path = paths.record("job-1", 0)
    put(path, line(make_record(0)), damage, line(make_record(1)))
    found = read_records(paths)
    assert [record["case_index"] for record in found.records] == [0, 1]
    assert found.damaged == [f"{path}:2"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(cut=st.integers(0, 10_000))
def test_a_record_cut_anywhere_is_damaged_or_whole(paths: SweepPaths, make_record: MakeRecord, cut: int) -> None:
    whole = line(make_record(0))
    path = paths.record("job-1", 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(line(make_record(1)) + b"\n" + whole[:cut])
    found = read_records(paths)
    assert found.records[0]["case_index"] == 1
    assert len(found.records) == (2 if cut >= len(whole) else 1)
    assert len(found.damaged) == (1 if 0 < cut < len(whole) else 0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(noise=st.binary(max_size=200))
def test_no_noise_ends_the_reading(paths: SweepPaths, make_record: MakeRecord, noise: bytes) -> None:
    path = paths.record("job-1", 0)
    put(path, noise, line(make_record(0)))
    assert len(read_records(paths).records) == 1
    assert len(read_element(paths, "job-1", 0)) == 1


@pytest.mark.parametrize("schema", [0, 1, "2", None])
def test_a_record_of_an_unknown_schema_is_refused_with_place_and_version(
    paths: SweepPaths, make_record: MakeRecord, schema: Any
) -> None:
    path = paths.record("job-1", 0)
    put(path, line(make_record(0)), line(make_record(1, schema=schema, hpcbench_version="9.9.9")))
    with pytest.raises(UserError) as refused:
        read_records(paths)
    text = str(refused.value)
    assert f"schema {schema}" in text
    assert "9.9.9" in text
    assert f"{path}:2" in text


def test_the_records_of_one_element_come_in_their_order(paths: SweepPaths, make_record: MakeRecord) -> None:
    put(paths.record("job-1", 3), line(make_record(3, attempt=1)), b"{", line(make_record(3, attempt=2)))
    put(paths.record("job-1", 4), line(make_record(4)))
    assert [record["attempt"] for record in read_element(paths, "job-1", 3)] == [1, 2]


@pytest.fixture
def sweep(paths: SweepPaths) -> Sweep:
    description = {
        "name": "sweep-1",
        "experiment": {"name": "experiment-1"},
        "site": {"name": "cluster", "scheduler": "slurm"},
        "hpcbench_version": "0.1.0",
        "git": None,
    }
    return Sweep(paths, description)


def test_a_repetition_that_left_nothing_gets_a_record_here(
    sweep: Sweep, make_planned: Callable[..., PlannedRun]
) -> None:
    outcome = verdict.Outcome("node_failure", {"type": "slurm", "message": "the node is gone", "last_lines": []})
    ids = {"SLURM_ARRAY_JOB_ID": "12", "SLURM_ARRAY_TASK_ID": "3"}
    written = write_reconciled(sweep, "job-1", 3, make_planned(3), outcome, ids)
    found = read_records(sweep.paths)
    assert found.records == [json.loads(json.dumps(written))]
    assert found.records[0]["status"] == "node_failure"
    assert found.records[0]["slurm"] == {"array_job_id": "12", "array_task_id": "3"}
    assert found.records[0]["samples"] is None


def test_a_secret_in_the_log_of_a_lost_job_does_not_reach_its_record(
    sweep: Sweep, make_planned: Callable[..., PlannedRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_TOKEN", "hunter2-hunter2")
    error = {"type": "slurm", "message": "gone", "last_lines": ["+ export MY_API_TOKEN=hunter2-hunter2"]}
    write_reconciled(sweep, "job-1", 0, make_planned(), verdict.Outcome("failed", error), {})
    assert "hunter2" not in (sweep.paths.records / RECONCILED).read_text()
