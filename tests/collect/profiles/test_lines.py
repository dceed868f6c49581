"""Reading the lines of operator profiles, which another user may have written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hpcbench.collect.profiles import lines
from hpcbench.collect.profiles.lines import read_profiles
from hpcbench.core.record import Record
from hpcbench.store.workspace import SweepPaths
from tests.operator_lines import a_line, an_operator, file_of, write_lines

MakeRecord = Callable[..., Record]


@pytest.fixture
def paths(paths: SweepPaths) -> SweepPaths:
    return replace(paths, name="sweep-1")


def kinds(paths: SweepPaths, *records: Record) -> list[list[str]]:
    found = read_profiles(paths, records)
    return [[line.row.kind for line in found.rows.get(place, [])] for place in range(len(records))]


def test_each_run_has_its_own_operators(paths: SweepPaths, profiled: MakeRecord) -> None:
    first, second = profiled(1), profiled(2)
    gemm, conv = an_operator("gemm"), an_operator("conv2d")
    write_lines(file_of(paths, first), [a_line(first, gemm), a_line(second, conv), a_line(first, conv)])
    assert kinds(paths, first, second) == [["gemm", "conv2d"], ["conv2d"]]


def test_lines_of_another_attempt_or_case_are_left_out(paths: SweepPaths, profiled: MakeRecord) -> None:
    record = profiled()
    changes = ({"started_at": "2026-11-30T07:31:13.509+00:00"}, {"case_id": "c1"}, {"run": 7})
    others = [a_line(record, an_operator(), **change) for change in changes]
    write_lines(file_of(paths, record), others)
    found = read_profiles(paths, [record])
    assert not found.rows
    assert not found.damaged


def test_a_run_that_was_resumed_has_the_operators_of_its_last_attempt(paths: SweepPaths, profiled: MakeRecord) -> None:
    """Each job numbers its attempts from 1; the record has the number over all jobs."""
    first, again = profiled(), replace(profiled(), started_at="2026-11-30T07:31:13.509+00:00")
    write_lines(file_of(paths, first), [a_line(first, an_operator("gemm")), a_line(again, an_operator("conv2d"))])
    assert kinds(paths, replace(again, attempt=2)) == [["conv2d"]]


def test_a_record_without_a_profile_is_not_looked_up(paths: SweepPaths, profiled: MakeRecord) -> None:
    record = profiled()
    write_lines(file_of(paths, record), [a_line(record, an_operator())])
    assert not read_profiles(paths, [replace(record, measure={})]).rows


def test_in_a_slurm_job_the_file_has_the_name_of_the_array_and_its_index(
    paths: SweepPaths, profiled: MakeRecord
) -> None:
    slurm = {"array_job_id": "40", "array_task_id": "3", "restart_count": "2"}
    record = replace(profiled(), slurm=slurm)
    write_lines(paths.operators / "job-1.2" / "40_3.jsonl", [a_line(record, an_operator())])
    assert kinds(paths, record) == [["gemm"]]


def test_a_batch_that_leaves_the_folder_is_not_followed(paths: SweepPaths, profiled: MakeRecord) -> None:
    record = replace(profiled(), batch="../job-1", slurm={"array_job_id": "40"})
    write_lines(paths.operators.parent / "job-1" / "40_0.jsonl", [a_line(record, an_operator())])
    assert kinds(paths, record) == [[]]


def test_an_operator_that_was_written_twice_is_there_once_unless_its_state_differs(
    paths: SweepPaths, profiled: MakeRecord
) -> None:
    record = profiled()
    states = [an_operator(hot_s=1.0), an_operator(hot_s=2.0), an_operator(hot_s=3.0, requested_clock_mhz=900)]
    write_lines(file_of(paths, record), [a_line(record, row) for row in states])
    found = read_profiles(paths, [record]).rows[0]
    assert [(line.row.hot_s, line.row.requested_clock_mhz) for line in found] == [(2.0, None), (3.0, 900)]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("{", ""),
        ("[]" * 10, ""),
        ("[" * 100_000, ""),
        ("\x00\x00", ""),
        ({"run": "one"}, "run is a string"),
        ({"row": {}}, "row.kind is missing"),
        ({"sweep": "another"}, "sweep is not sweep-1"),
        ({"row.hot_s": "1"}, "row.hot_s is a string"),
        ({"row.hot_s": -1.0}, "row.hot_s is -1.0"),
        ({"row.cold_s": float("nan")}, "row.cold_s is nan"),
        ({"row.stream_s": float("inf")}, "row.stream_s is inf"),
        ({"row.flops": 2**70}, "row.flops does not fit into 64 bits"),
        ({"row.calls_per_step": -3}, "row.calls_per_step is -3"),
        ({"row.arguments": "x" * 2**21}, "longer than 1 MiB"),
    ],
)
def test_a_damaged_line_is_listed_and_the_others_are_kept(
    paths: SweepPaths, profiled: MakeRecord, change: Any, problem: str
) -> None:
    record = profiled()
    good = a_line(record, an_operator())
    bad = change
    if isinstance(change, dict):
        ((key, value),) = change.items()
        bad = json.loads(json.dumps(good))
        target = bad["row"] if key.startswith("row.") else bad
        target[key.removeprefix("row.")] = value
    write_lines(file_of(paths, record), [good, bad, a_line(record, an_operator("softmax"))])
    found = read_profiles(paths, [record])
    assert [line.row.kind for line in found.rows[0]] == ["gemm", "softmax"]
    (damaged,) = found.damaged
    assert "local.jsonl:2 (" in damaged
    assert problem in damaged


def test_a_line_that_is_still_being_written_is_no_operator(paths: SweepPaths, profiled: MakeRecord) -> None:
    record = profiled()
    path = file_of(paths, record)
    write_lines(path, [a_line(record, an_operator())])
    with path.open("a") as file:
        file.write('{"sweep": "sweep-1", "ca')
    assert kinds(paths, record) == [["gemm"]]


def test_of_too_many_lines_the_first_are_read(
    paths: SweepPaths, profiled: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MAX_ROWS", 2)
    record = profiled()
    write_lines(file_of(paths, record), [a_line(record, an_operator(kind)) for kind in ("a", "b", "c", "d")])
    found = read_profiles(paths, [record])
    assert [line.row.kind for line in found.rows[0]] == ["a", "b"]
    (told,) = found.damaged
    assert "local.jsonl:3 (too many lines" in told


def test_a_folder_or_a_pipe_instead_of_the_file_is_no_profile(paths: SweepPaths, profiled: MakeRecord) -> None:
    record = profiled()
    file_of(paths, record).mkdir(parents=True)
    assert kinds(paths, record) == [[]]
