"""What a job that Slurm has started anew does with what it did before."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.profiling.operator_row import OperatorRow
from hpcbench.core.typed_json import to_json
from hpcbench.node.job.requeue import REQUEUED, Start, earlier_attempts, record_cut_off
from tests.fixtures.records import a_record


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """Those that the first start of job 7_1 has written."""
    path = tmp_path / "job-1.abcd" / "7_1.jsonl"
    path.parent.mkdir()
    return path


def start(records: Path) -> Start:
    """The eleventh of a job whose first one has written these records."""
    return Start(10, "job-1.abcd", "", str(records.parent.with_name("job-1.abcd.10") / records.name), "")


def put(file: Path, *ended: tuple[Any, ...]) -> None:
    """Add records: element, status, and the attempt if it is not the first."""
    file.parent.mkdir(exist_ok=True)
    with file.open("a") as lines:
        for element, status, *attempt in ended:
            interference = {"verdict": "clean"} if status == "completed" else None
            line = {"element": element, "status": status, "interference": interference, "attempt": (*attempt, 1)[0]}
            lines.write(json.dumps(line) + "\n")


def statuses(start: Start) -> dict[int, list[str]]:
    """How the attempts of each element ended."""
    return {element: [each.status for each in attempts] for element, attempts in earlier_attempts(start).items()}


def test_what_has_ended_is_known_with_its_verdict(records: Path) -> None:
    put(records, (5, "preempted"), (6, "completed"), (5, "completed"))
    assert earlier_attempts(start(records)) == {
        5: [("preempted", None), ("completed", "clean")],
        6: [("completed", "clean")],
    }


def test_the_starts_of_a_job_count_in_their_order(records: Path, tmp_path: Path) -> None:
    """The name of the tenth sorts before that of the second."""
    put(records, (0, "preempted"), (1, "preempted"), (2, "failed"))
    put(tmp_path / "job-1.abcd.2" / "7_1.jsonl", (0, "preempted"))
    put(tmp_path / "job-1.abcd.10" / "7_1.jsonl", (0, "completed"))
    put(tmp_path / "job-1.abcd.1" / "7_1.jsonl", (1, "completed"))
    assert statuses(start(records)) == {
        0: ["preempted", "preempted", "completed"],
        1: ["preempted", "completed"],
        2: ["failed"],
    }


def test_job_7_1_is_not_job_7_10(records: Path, tmp_path: Path) -> None:
    put(records.with_name("7_10.jsonl"), (0, "completed"))
    put(tmp_path / "job-1.abcd.1" / "7_10.jsonl", (1, "completed"))
    put(tmp_path / "job-1.ef" / "7_1.jsonl", (2, "completed"))
    assert statuses(start(records)) == {}


UNJUDGED = b'{"element": 0, "status": "completed", "interference": "none"}'


@pytest.mark.parametrize(
    "damage", [b"{", b"[]", b"7", b"\xff\x00", b"{}", b'{"element": 0}', b'{"status": "failed"}', UNJUDGED]
)
def test_a_damaged_line_is_as_if_it_had_not_been_written(records: Path, damage: bytes) -> None:
    records.write_bytes(damage + b"\n")
    put(records, (1, "completed"))
    assert statuses(start(records)) == {1: ["completed"]}


def test_before_there_is_any_record_nothing_has_ended(tmp_path: Path) -> None:
    assert statuses(start(tmp_path / "nowhere" / "7_1.jsonl")) == {}


@pytest.fixture
def restarted(
    make_folder: Callable[..., Any],
    sweep_description: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[dict[int, list[str]], list[dict[str, Any]], Any]]:
    """How attempts of job 42, started for the second time, ended before; the records that it writes; and the folder.

    Its first start was cut off in element 0, of four, after words in the log.
    """
    folder = make_folder()
    folder.job_file.write_text(folder.job_file.read_text() * 4)
    monkeypatch.setenv("SLURM_JOB_ID", "42")
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")

    def run(
        words: str = "", ran: str = "0-42-0-1", ended: tuple[tuple[Any, ...], ...] = (), rank: str | None = None
    ) -> tuple[dict[int, list[str]], list[dict[str, Any]], Any]:
        folder.records.parent.mkdir(parents=True)
        put(folder.records, *ended)
        scratch = folder.running / ran
        scratch.mkdir(parents=True)
        (scratch / "monitor-n1.jsonl").write_text("what it saw\n")
        if rank is not None:
            (scratch / "rank-0.json").write_text(rank)
        (tmp_path / "log").write_text(words)
        records = folder.records.parent.with_name("job-1.abcd.1") / folder.records.name
        again = Start(1, "job-1.abcd", str(folder.running), str(records), str(tmp_path / "log"))
        record_cut_off(str(folder.job_file), sweep_description, again)
        known = statuses(again)
        assert capsys.readouterr().err == f"{REQUEUED}\n"
        lines = records.read_text().splitlines() if records.exists() else []
        return known, [json.loads(line) for line in lines], folder

    return run


Restarted = Callable[..., tuple[dict[int, list[str]], list[dict[str, Any]], Any]]
SLURMSTEPD = "slurmstepd: error: *** JOB 42 ON n1 CANCELLED AT 2026-11-01T00:00:00 DUE TO {} ***\n"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (SLURMSTEPD.format("PREEMPTION"), "preempted"),
        (SLURMSTEPD.format("JOB REQUEUE"), "preempted"),
        (SLURMSTEPD.format("NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"), "node_failure"),
        (SLURMSTEPD.format("PREEMPTION") + 1000 * "Traceback (most recent call last): Terminated\n", "preempted"),
        ("the last words before the power failed", "node_failure"),
        ("", "node_failure"),
    ],
)
def test_what_was_cut_off_has_a_record_of_why(restarted: Restarted, words: str, status: str) -> None:
    known, (record,), folder = restarted(words)
    assert known == {0: [status]}
    assert (record["status"], record["error"]["type"], record["error"]["last_lines"]) == (
        status,
        status,
        words.splitlines()[-30:],
    )
    assert (record["job"], record["element"], record["batch"], record["attempt"]) == ("job-1", 0, "job-1.abcd", 1)
    assert record["slurm"]["restart_count"] == "1"
    assert list(folder.running.iterdir()) == []
    kept = folder.folder / "results" / "timelines" / "job-1.abcd.1" / "42_0.jsonl.gz"
    assert gzip.decompress(kept.read_bytes()) == b"what it saw\n"


def test_what_an_earlier_start_was_ended_by_does_not_explain_the_end_of_a_later_one(restarted: Restarted) -> None:
    _, (record,), _ = restarted(
        f"{SLURMSTEPD.format('PREEMPTION')}{REQUEUED}\nthe last words before the power failed\n"
    )
    assert record["status"] == "node_failure"
    assert record["error"]["last_lines"] == ["the last words before the power failed"]


def test_what_had_all_but_its_record_has_completed(
    restarted: Restarted, make_rank: Callable[..., dict[str, Any]]
) -> None:
    known, (record,), _ = restarted(SLURMSTEPD.format("PREEMPTION"), rank=json.dumps(make_rank()))
    assert (known, record["status"]) == ({0: ["completed"]}, "completed")


@pytest.mark.parametrize("content", ["", '{"rank": 0, "fac', "\0" * 40], ids=["empty", "cut off", "zeros"])
def test_a_rank_whose_file_its_node_could_not_finish_has_left_none(restarted: Restarted, content: str) -> None:
    known, (record,), _ = restarted(rank=content)
    assert (known, record["status"], record["ranks"]) == ({0: ["node_failure"]}, "node_failure", [])


def test_what_had_ended_before_is_known_with_what_was_cut_off(restarted: Restarted) -> None:
    known, (record,), _ = restarted(ran="2-42-0-3", ended=((0, "completed"), (1, "failed")))
    assert known == {0: ["completed"], 1: ["failed"], 2: ["node_failure"]}
    assert (record["element"], record["attempt"]) == (2, 3)


def test_what_was_killed_between_its_record_and_the_end_of_its_folder_has_one_record(restarted: Restarted) -> None:
    known, records, folder = restarted(ran="2-42-0-3", ended=((2, "completed", 3),))
    assert (known, records) == ({2: ["completed"]}, [])
    assert list(folder.running.iterdir()) == []


@pytest.mark.parametrize("ran", ["0-43-0-1", "0-4-2-1", ".0-42.log", "0-42", "notes"])
def test_what_another_job_runs_is_left_alone(restarted: Restarted, ran: str) -> None:
    known, records, folder = restarted(SLURMSTEPD.format("PREEMPTION"), ran)
    assert (known, records) == ({}, [])
    assert (folder.running / ran / "monitor-n1.jsonl").exists()


@pytest.fixture
def recorded(
    tmp_path: Path, sweep_description: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> Callable[[dict[str, Any]], Path]:
    """Requeues job 42, whose element 2 has this record, in tmp_path. Returns the scratch folder of its third attempt.

    The folder has the row of an operator profile.
    """
    monkeypatch.setenv("SLURM_JOB_ID", "42")
    records, scratch = tmp_path / "records/job-1.abcd/42_0.jsonl", tmp_path / "running/2-42-0-3"
    for folder in (records.parent, scratch):
        folder.mkdir(parents=True)
    row = OperatorRow("gemm", "aten.mm.default", "forward", "{}")
    (scratch / "operators.jsonl").write_text(json.dumps(to_json(row)) + "\n")

    def requeue(record: dict[str, Any]) -> Path:
        records.write_text(json.dumps(record) + "\n")
        again = tmp_path / "records/job-1.abcd.1/42_0.jsonl"
        record_cut_off("job-1.jsonl", sweep_description, Start(1, "job-1.abcd", str(scratch.parent), str(again), ""))
        assert not again.exists()
        return scratch

    return requeue


RECORD = {"element": 2, "attempt": 3, "batch": "job-1.abcd"}


def test_a_profile_that_could_not_be_kept_before_a_requeue_is_kept_after_it(
    recorded: Callable[[dict[str, Any]], Path], tmp_path: Path
) -> None:
    in_the_way = tmp_path / "operators"
    in_the_way.write_text("")
    record = to_json(replace(a_record(), **RECORD))
    assert (recorded(record) / "operators.jsonl").exists()
    in_the_way.unlink()
    assert not recorded(record).exists()
    (line,) = (tmp_path / "operators/job-1.abcd/42_0.jsonl").read_text().splitlines()
    assert json.loads(line)["started_at"] == record["started_at"]


def test_weights_that_cannot_be_kept_stay_after_a_requeue(
    recorded: Callable[[dict[str, Any]], Path], tmp_path: Path
) -> None:
    record = to_json(replace(a_record(trajectory={"sha256": "0" * 64}), **RECORD))
    assert recorded(record).exists()
    assert (tmp_path / "operators/job-1.abcd/42_0.jsonl").exists()


def test_a_profile_with_a_damaged_record_stays_after_a_requeue(
    recorded: Callable[[dict[str, Any]], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    scratch = recorded(RECORD)
    assert (scratch / "operators.jsonl").exists()
    assert f"{scratch} stays, because its record is damaged" in capsys.readouterr().err
