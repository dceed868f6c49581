"""By which exit status the zipapp tells a job script how to go on, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.status import OUT_OF_MEMORY

AGAIN, JOB_OVER = 75, 76


@pytest.fixture
def recorded(
    make_folder: Callable[..., Any],
    make_rank: Callable[..., dict[str, Any]],
    put_timeline: Callable[..., Path],
    clean_environment: dict[str, str],
) -> Callable[..., tuple[int, str, dict[str, Any]]]:
    """Exit status, words and record of a repetition that completed, disturbed unless told otherwise."""
    folder = make_folder()

    def record(
        throttled: float | None = 0.5,
        retries: int = 1,
        rank: dict[str, Any] | None = None,
        retried: str = "preempted",
        **ending: Any,
    ) -> tuple[int, str, dict[str, Any]]:
        folder.measure(retries=retries)
        sweep = folder.job_file.with_name("sweep.json")
        sweep.write_text(sweep.read_text().replace("preempted", retried))
        folder.scratch.mkdir(parents=True)
        if not ending.get("noise"):
            (folder.scratch / "rank-0.json").write_text(json.dumps(make_rank(**(rank or {}))))
        if throttled is not None:
            put_timeline(folder.scratch, throttled=throttled)
        words = folder.words("record", *folder.record_words(0, **ending))
        done = subprocess.run(words, env=clean_environment, capture_output=True, text=True, check=False, timeout=60)
        assert done.stderr == ""
        return done.returncode, done.stdout, json.loads(folder.records.read_text().splitlines()[-1])

    return record


Recorded = Callable[..., tuple[int, str, dict[str, Any]]]


def test_what_was_disturbed_asks_for_another_attempt(recorded: Recorded) -> None:
    status, said, record = recorded()
    assert (status, record["interference"]["verdict"]) == (AGAIN, "disturbed")
    assert said.splitlines()[-1] == "hpcbench: disturbed; once more"


@pytest.mark.parametrize("throttled", [0.0, None], ids=["clean", "unmonitored"])
def test_what_was_not_disturbed_does_not(recorded: Recorded, throttled: float | None) -> None:
    status, said, record = recorded(throttled)
    assert (status, record["status"]) == (0, "completed")
    assert "once more" not in said


@pytest.mark.parametrize(
    ("retries", "attempt", "status"), [(0, 1, 0), (1, 1, AGAIN), (1, 2, 0), (3, 3, AGAIN), (3, 4, 0)]
)
def test_it_is_measured_again_as_often_as_asked(recorded: Recorded, retries: int, attempt: int, status: int) -> None:
    assert recorded(retries=retries, attempt=attempt)[0] == status


@pytest.mark.parametrize(
    ("elapsed", "attempt", "enough"),
    [
        (27.0, 1, True),
        (28.0, 1, False),
        (37.0, 2, True),
        (38.0, 2, False),
    ],  # of 60: another one may take 1.2 times as long
)
def test_it_is_measured_again_if_the_wall_time_allows_another_like_those_before(
    recorded: Recorded, elapsed: float, attempt: int, enough: bool
) -> None:
    status, said, record = recorded(retries=9, elapsed=elapsed, attempt=attempt)
    assert status == (AGAIN if enough else 0)
    assert ("no time is left to try again" in said) == (not enough)
    assert record["status"] == "completed"


def test_it_is_not_measured_again_when_the_script_was_told_to_end(recorded: Recorded) -> None:
    status, _, record = recorded(stopped="TERM")
    assert (status, record["status"]) == (0, "completed")


def test_a_failure_is_not_measured_again(recorded: Recorded) -> None:
    status, said, record = recorded(rank={"exit_code": 3, "facts": None})
    assert (status, record["status"]) == (1, "failed")
    assert "once more" not in said


FAILED = {"exit_code": 3, "facts": None}


@pytest.mark.parametrize(
    ("attempt", "changes", "status"),
    [(1, {}, AGAIN), (2, {}, AGAIN), (3, {}, 1), (1, {"stopped": "TERM"}, 1), (1, {"elapsed": 40.0}, 1)],
    ids=["first", "second", "often enough", "told to end", "no time"],
)
def test_what_ended_in_a_way_that_is_retried_asks_for_another_attempt_twice(
    recorded: Recorded, attempt: int, changes: dict[str, Any], status: int
) -> None:
    ended, said, record = recorded(None, rank=FAILED, retried="failed", attempt=attempt, **changes)
    assert (ended, record["status"]) == (status, "failed")
    assert ("hpcbench: failed; once more" in said) == (status == AGAIN)


@pytest.mark.parametrize(
    "line",
    [
        "srun: error: Node failure on n2",
        "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-01T00:00:00 DUE TO NODE FAILURE ***",
    ],
)
def test_a_job_whose_node_is_lost_begins_nothing_more_for_slurm_starts_it_anew(
    recorded: Recorded, tmp_path: Path, line: str
) -> None:
    (tmp_path / "log").write_text(f"{line}\n")
    stopped = {"exit_code": None, "signal": "SIGTERM", "stopped_by": "SIGTERM", "facts": None, "rank": 1}
    ended, said, record = recorded(None, rank=stopped, log=str(tmp_path / "log"))
    assert (ended, record["status"]) == (JOB_OVER, "node_failure")
    assert "once more" not in said


def test_what_was_not_begun_because_of_noise_is_a_record_too(recorded: Recorded) -> None:
    status, said, record = recorded(None, noise="n1: 1.5 of 2 CPUs are busy")
    assert (status, record["status"], record["ranks"], record["samples"]) == (1, "skipped", [], None)
    assert said.endswith("skipped: the node is not quiet: n1: 1.5 of 2 CPUs are busy; `hpcbench resume` tries again\n")


def test_a_look_at_a_node_that_is_not_quiet_names_it_and_fails(zipapp: Path, clean_environment: dict[str, str]) -> None:
    with subprocess.Popen([sys.executable, "-c", "print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE) as hog:
        try:
            assert hog.stdout is not None
            hog.stdout.readline()
            words = [sys.executable, str(zipapp), "quiet"]
            environment = {**clean_environment, "SLURMD_NODENAME": "n7"}
            done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=60)
        finally:
            hog.kill()
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("n7: ")
    assert done.stdout.endswith("CPUs are busy\n")


def test_a_monitor_is_told_its_mark_by_the_name_of_its_folder(
    tmp_path: Path, zipapp: Path, clean_environment: dict[str, str]
) -> None:
    """In which it makes the folder, too; the supervisors give that name to what they start."""
    scratch = tmp_path / "running" / "0-4711-0-1"
    worker = [sys.executable, "-c", "print(flush=True); input()"]
    environment = {**clean_environment, "HPCBENCH_MARK": scratch.name}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(worker, env=environment, **pipes) as process:  # type: ignore[call-overload]
        process.stdout.readline()
        words = [sys.executable, str(zipapp), "monitor", str(scratch)]
        done = subprocess.run(words, env=clean_environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        process.communicate("\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"hpcbench: watching\n", b"")
    (file,) = scratch.iterdir()
    header, *readings, _ = map(json.loads, file.read_text().splitlines())
    place = list(header["sources"]).index("own")
    column = 2 + header["sources"]["own"].index("own.processes")
    assert [reading[column] for reading in readings if reading[0] == place] == [1, 1]


def test_a_repetition_is_asked_for_and_recorded_by_the_commands_of_the_script(
    make_folder: Callable[..., Any], make_rank: Callable[..., dict[str, Any]], clean_environment: dict[str, str]
) -> None:
    folder = make_folder()
    planned = json.loads(folder.job_file.read_text())

    def zipapp(command: str, *options: object) -> str:
        words = [sys.executable, folder.zipapp, command, folder.job_file, 0, *options]
        done = subprocess.run(map(str, words), env=clean_environment, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        return done.stdout.strip()

    def record(*options: str) -> dict[str, Any]:
        ended = ["--batch", "job-1", "--exit-status", 1, "--elapsed", 1, "--limit", 60, *options]
        zipapp("record", "--scratch", folder.scratch, "--records", folder.records, *ended)
        found: dict[str, Any] = json.loads(folder.records.read_text().splitlines()[-1])
        return found

    def asked(size: int) -> str:
        changes = {"case_id": f"c{size}", "monotone": {"group": "ab54a98ceb1f0ad2", "values": {"batch_size": size}}}
        folder.job_file.write_text(json.dumps({**planned, **changes}) + "\n")
        return zipapp("monotone", "--results", folder.records.parents[2])

    assert asked(512) == ""
    facts = {
        "status": OUT_OF_MEMORY,
        "error": {"type": "OutOfMemoryError", "message": "CUDA out of memory."},
        "warnings": [],
    }
    folder.scratch.mkdir(parents=True, exist_ok=True)
    (folder.scratch / "rank-0.json").write_text(json.dumps(make_rank(exit_code=1, facts=facts)))
    assert record()["status"] == OUT_OF_MEMORY
    assert asked(512) == ""
    reason = "batch_size=512 ran out of memory (case c512, repetition 0), and batch_size=1024 is larger"
    assert asked(1024) == reason
    skip = record("--too-large", reason)
    assert (skip["status"], skip["error"]) == ("skipped", {"type": "monotone", "message": reason, "last_lines": []})
