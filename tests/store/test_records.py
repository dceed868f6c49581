"""Record files are read whatever has happened to them; only an unknown schema is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcbench.core.record import SCHEMA, Error, Record
from hpcbench.core.samples import Window
from hpcbench.core.typed_json import to_json
from hpcbench.errors import UserError
from hpcbench.node.results import record_writer as node_record
from hpcbench.store import records as store_records
from hpcbench.store.records import RECONCILED, best_attempt, in_order, read_file, read_later, read_records
from hpcbench.store.workspace import SweepPaths
from hpcbench.util import bounded_read
from tests.examples import examples

MakeRecord = Callable[..., Record]


@pytest.fixture(params=["few", "many"], autouse=True)
def decoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few records are decoded field by field, many by pydantic: with the same result."""
    if request.param == "many":
        monkeypatch.setattr(store_records, "MANY_BYTES", -1)


def put(path: Path, *lines: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def line(record: Record | dict[str, Any]) -> bytes:
    return json.dumps(to_json(record)).encode()


def test_records_of_all_jobs_are_read(paths: SweepPaths, make_record: MakeRecord) -> None:
    for case in range(4):
        node_record.append(make_record(case), str(paths.records / f"job-{case % 2}" / f"7_{case}.jsonl"))
    node_record.append(make_record(4, status="node_failure"), str(paths.records / RECONCILED))
    found = read_records(paths)
    assert sorted(record.case_index for record in found.records) == [0, 1, 2, 3, 4]
    assert found.damaged == []


@pytest.mark.parametrize("odd", [10**30, float("inf"), 5e-324, -0.0, "\x00", "\U0001f600", [[[]]]])
def test_a_record_is_read_as_python_would_read_it(paths: SweepPaths, make_record: MakeRecord, odd: object) -> None:
    record = make_record(0, user_parameters={"odd": odd}, job="job-0", element=0)
    node_record.append(record, str(paths.local_records("job-0")))
    found = read_records(paths)
    assert (repr(found.records), found.damaged) == (repr([record]), [])


def test_half_of_a_surrogate_pair_is_replaced_and_a_whole_one_is_kept(
    paths: SweepPaths, make_record: MakeRecord
) -> None:
    """As os.fsdecode makes it of a byte that is no UTF-8; no table of a report could be written with it."""
    error = {"type": "ValueError", "message": "no \udcff \U0001f600", "last_lines": ["\udcff"]}
    record = make_record(0, status="failed", user_parameters={"note": "\ud800", "path": "C:\\udir"}, error=error)
    node_record.append(record, str(paths.local_records("job-1")))
    (found,) = read_records(paths).records
    assert found.error == Error("ValueError", "no ? \U0001f600", ["?"])
    assert found.user_parameters == {"note": "?", "path": "C:\\udir"}


def test_a_sweep_without_records_has_none(paths: SweepPaths) -> None:
    assert read_records(paths).records == []
    assert read_file(paths.local_records("job-1")) == []


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b'{"schema": 3, "status": "compl',
        b"\x00" * 4096,
        b"\xff\xfe\x00",
        b"null",
        b"[1, 2]",
        b'"completed"',
        b'{"schema": 3}',
        b"{}{}",
        b"[" * 100_000,
    ],
    ids=["empty", "brace", "cut", "zeros", "binary", "null", "list", "text", "no status", "glued", "deep"],
)
def test_a_damaged_line_is_counted_with_its_place_and_the_others_are_read(
    paths: SweepPaths, make_record: MakeRecord, damage: bytes
) -> None:
    path = paths.local_records("job-1")
    put(path, line(make_record(0)), damage, line(make_record(1)))
    found = read_records(paths)
    assert [record.case_index for record in found.records] == [0, 1]
    assert found.damaged == [f"{path}:2"]


@pytest.mark.parametrize("name", ["..", "/etc/passwd", "a/b", "", None, ["job-1"]])
@pytest.mark.parametrize("key", ["job", "batch"])
def test_a_record_of_a_job_whose_name_leads_elsewhere_is_damaged(
    paths: SweepPaths, make_record: MakeRecord, key: str, name: object
) -> None:
    path = paths.local_records("job-1")
    put(path, line({**to_json(make_record(0)), key: name}))
    assert (read_records(paths).records, read_file(path)) == ([], [])


def test_a_record_that_has_not_what_is_needed_is_damaged_and_what_is_wrong_is_said(
    paths: SweepPaths, make_record: MakeRecord
) -> None:
    path = paths.local_records("job-1")
    put(
        path,
        line(make_record(0)),
        line({"schema": SCHEMA, "status": "completed"}),
        line({**to_json(make_record(1)), "measurements": "none"}),
    )
    found = read_records(paths)
    assert [record.case_index for record in found.records] == [0]
    assert found.damaged == [f"{path}:2 (sweep is missing)", f"{path}:3 (measurements is a string)"]
    assert [record.case_index for record in read_file(path)] == [0]


def test_a_line_that_is_larger_than_any_is_damaged_and_not_read_into_memory(
    paths: SweepPaths, make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = paths.local_records("job-1")
    put(path, line(make_record(0)), b"x" * 300_000, line(make_record(1)))
    monkeypatch.setattr(bounded_read, "MAX_BYTES", 100_000)
    monkeypatch.setattr(Path, "read_bytes", None)
    found = read_records(paths)
    assert [record.case_index for record in found.records] == [0, 1]
    assert found.damaged == [f"{path}:2"]
    assert found.sizes == {path: path.stat().st_size}
    assert [record.case_index for record in read_file(path)] == [0, 1]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(cut=st.integers(0, 10_000))
def test_a_record_cut_anywhere_is_damaged_or_whole(paths: SweepPaths, make_record: MakeRecord, cut: int) -> None:
    whole = line(make_record(0))
    path = paths.local_records("job-1")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(line(make_record(1)) + b"\n" + whole[:cut])
    found = read_records(paths)
    assert found.records[0].case_index == 1
    assert len(found.records) == (2 if cut >= len(whole) else 1)
    assert len(found.damaged) == (1 if 0 < cut < len(whole) else 0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(noise=st.binary(max_size=200))
def test_no_noise_ends_the_reading(paths: SweepPaths, make_record: MakeRecord, noise: bytes) -> None:
    path = paths.local_records("job-1")
    put(path, noise, line(make_record(0)))
    assert len(read_records(paths).records) == 1
    assert len(read_file(path)) == 1


@pytest.mark.parametrize("schema", [0, 2, "3", None])
def test_a_record_of_an_unknown_schema_is_refused_with_place_and_version(
    paths: SweepPaths, make_record: MakeRecord, schema: Any
) -> None:
    path = paths.local_records("job-1")
    put(path, line(make_record(0)), line({**to_json(make_record(1)), "schema": schema, "hpcbench_version": "9.9.9"}))
    with pytest.raises(UserError) as refused:
        read_records(paths)
    text = str(refused.value)
    assert f"schema {schema}" in text
    assert "9.9.9" in text
    assert f"{path}:2" in text


def test_the_records_of_a_file_come_in_their_order_and_from_a_place_on(
    paths: SweepPaths, make_record: MakeRecord
) -> None:
    path = paths.local_records("job-1")
    put(path, line(make_record(3, attempt=1)), b"{", line(make_record(3, attempt=2)))
    before = path.stat().st_size
    assert [record.attempt for record in read_file(path)] == [1, 2]
    assert read_file(path, before) == []
    node_record.append(make_record(3, attempt=3), str(path))
    assert [record.attempt for record in read_file(path, before)] == [3]


def test_a_line_that_a_file_system_has_written_twice_counts_once(paths: SweepPaths, make_record: MakeRecord) -> None:
    first, second = line(make_record(0)), line(make_record(1))
    put(paths.local_records("job-1"), first, second, first, b"{", b"{")
    found = read_records(paths)
    assert [record.case_index for record in found.records] == [0, 1]
    assert found.damaged == [f"{paths.local_records('job-1')}:4"]


def ran(array: int | None, restart: int | None = None, attempt: int | None = 1) -> dict[str, Any]:
    """What a record says of the job that it is of, made up later where there is no attempt."""
    told = {"array_job_id": array, "restart_count": restart}
    slurm = {name: str(number) for name, number in told.items() if number is not None}
    return {"slurm": slurm, "attempt": attempt}


@pytest.fixture
def failed(make_record: MakeRecord) -> MakeRecord:
    """A record of a run that failed, with the Slurm variables of its job."""

    def make(slurm: dict[str, str], attempt: int | None, ended_at: str) -> Record:
        return replace(make_record(status="failed"), slurm=slurm, attempt=attempt, ended_at=ended_at)

    return make


BEFORE_AND_AFTER = [
    (ran(9), ran(10)),  # as numbers: as words they sort the other way
    (ran(9, restart=2), ran(10)),
    (ran(9), ran(9, restart=1)),
    (ran(9, restart=9), ran(9, restart=10)),
    (ran(9, attempt=None), ran(9)),  # the job was only late to tell
    (ran(9, attempt=None), ran(9, restart=1)),
    (ran(9), ran(10, attempt=None)),
    (ran(None), ran(9)),  # what ran here, then on the cluster
]


@pytest.mark.parametrize(("before", "after"), BEFORE_AND_AFTER)
@pytest.mark.parametrize("clock", [1, -1], ids=["clocks agree", "clocks contradict"])
def test_records_are_in_the_order_of_what_slurm_counts_up_whatever_the_clocks_say(
    failed: MakeRecord, before: dict[str, Any], after: dict[str, Any], clock: int
) -> None:
    first = failed(**before, ended_at=f"2026-11-0{3 - clock}T00:00:00.000+00:00")
    second = failed(**after, ended_at="2026-11-03T00:00:00.000+00:00")
    assert in_order([first, second]) == in_order([second, first]) == [first, second]
    assert best_attempt(in_order([second, first])) is second


def test_an_end_that_two_have_made_up_for_the_same_job_counts_once(failed: MakeRecord) -> None:
    first, second, other = (failed(**ran(array, attempt=None), ended_at=str(n)) for n, array in enumerate((9, 9, 10)))
    assert in_order([first, second, other]) == [first, other]


@pytest.mark.parametrize(("array", "attempts"), [(9, [1, 2, 3]), (None, [1, 2, 3]), (None, [1, None, 1])])
def test_what_one_job_or_this_machine_has_written_stays_in_the_order_in_which_it_was(
    failed: MakeRecord, array: int | None, attempts: list[int | None]
) -> None:
    written = [failed(**ran(array, attempt=attempt), ended_at=str(9 - n)) for n, attempt in enumerate(attempts)]
    assert in_order(written) == written


def test_a_record_that_was_half_written_is_read_later(paths: SweepPaths, make_record: MakeRecord) -> None:
    path = paths.local_records("job-1")
    whole = line(make_record(1)) + b"\n"
    path.parent.mkdir(parents=True)
    path.write_bytes(line(make_record(0)) + b"\n" + whole[:100])
    found = read_records(paths)
    with path.open("ab") as file:
        file.write(whole[100:])
    assert [record.case_index for record in read_later(paths, found)] == [1]


@pytest.mark.parametrize(
    ("slurm", "problem"),
    [
        ({"array_job_id": "1;2", "array_task_id": "0"}, "slurm.array_job_id is not a number"),
        ({"array_job_id": "7", "array_task_id": "x"}, "slurm.array_task_id is not a number"),
        ({"array_job_id": "7"}, "slurm.array_task_id is missing"),
        ({"restart_count": "-"}, "slurm.restart_count is not a number"),
        ({"array_job_id": "9" * 5000, "array_task_id": "0"}, "slurm.array_job_id is not a number"),
    ],
)
def test_a_record_whose_slurm_job_is_none_is_damaged(
    paths: SweepPaths, make_record: MakeRecord, slurm: dict[str, str], problem: str
) -> None:
    path = paths.local_records("job-1")
    put(path, line({**to_json(make_record(0)), "slurm": slurm}))
    found = read_records(paths)
    assert (found.records, found.damaged) == ([], [f"{path}:1 ({problem})"])


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of each value in JSON."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from places(value, (*path, key))


def value_at(data: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        data = data[key]
    return data


def of_another_kind(value: Any) -> list[Any]:
    """An array as the objects that hold the same, and an object as an array."""
    if isinstance(value, list):
        named = dict(zip(Window._fields, value, strict=False))
        return [named, {str(place): each for place, each in enumerate(value)}]
    return [[*value.values()], [[*each] for each in value.items()]] if isinstance(value, dict) else []


EVIDENCE = {"causes": ["cpu"], "what": "another process", "windows": 1, "size": 0.5}
ODD = (
    *(None, True, 3, 2.5, "text", "3", "NaN", [], {}, [1, "text"], {"a": 1}),
    *(2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**20, 1e20, 10**400, math.inf, -math.inf),
)


def test_both_decoders_accept_and_refuse_the_same_values_at_each_place(
    paths: SweepPaths, make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    interference = {"verdict": "interference", "windows": [{"cpu": 0.5}, None], "found": [EVIDENCE]}
    whole = json.loads(line(make_record(0, interference=interference)))
    path = paths.local_records("job-1")
    refused = 0
    for place in places(whole):
        if place[0] == "schema":
            continue
        variants = []
        for value in (*ODD, *of_another_kind(value_at(whole, place))):
            changed = json.loads(json.dumps(whole))
            value_at(changed, place[:-1])[place[-1]] = value
            variants.append(line(changed).replace(b"Infinity", b"1e400"))
        put(path, *variants)
        found = []
        for limit in (-1, 10**9):
            monkeypatch.setattr(store_records, "MANY_BYTES", limit)
            found.append(read_records(paths))
        assert found[0].records == found[1].records, place
        assert found[0].damaged == found[1].damaged, place
        refused += len(found[0].damaged)
    assert refused > 1000
