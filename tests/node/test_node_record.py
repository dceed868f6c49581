"""From rank files to the status, the cause and the one line of a record."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.node import record
from hpcbench.node.outcomes import (
    CANCELLED,
    COMPLETED,
    FAILED,
    NODE_FAILURE,
    OUT_OF_MEMORY,
    STATUSES,
    TIMEOUT,
    UNSUPPORTED,
)
from hpcbench.node.planned import PlannedRun
from hpcbench.node.record import Ending

Rank = dict[str, Any]
MakeRank = Callable[..., Rank]

RAISED = {"type": "ValueError", "message": "the weights are wrong", "last_lines": ["ValueError: the weights are wrong"]}
TERMINATED = {"exit_code": None, "signal": "SIGTERM", "stopped_by": "SIGTERM", "facts": None}
SEGFAULT = {"exit_code": None, "signal": "SIGSEGV", "facts": None, "last_lines": ["Fatal Python error"]}
KILLED = {"exit_code": None, "signal": "SIGKILL", "facts": None}


def failed(status: str = FAILED, **error: Any) -> dict[str, Any]:
    return {"warnings": [], "status": status, "error": {**RAISED, **error}}


def ending(**changes: Any) -> Ending:
    usual = {"exit_status": 1, "stopped": False, "elapsed_s": 10.0, "limit_s": 600.0, "margin_s": 0.0, "log": ""}
    return Ending(**{**usual, **changes})


@pytest.fixture
def log(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        (tmp_path / "log.out").write_text(text)
        return str(tmp_path / "log.out")

    return write


SCENARIOS: list[tuple[str, list[dict[str, Any]], dict[str, Any], str, int | None]] = [
    # what happened, changes to each rank, how the launcher ended, the status, the rank that is the cause
    ("one rank completed", [{}], {"exit_status": 0}, COMPLETED, None),
    ("all ranks completed", [{}, {}, {}], {"exit_status": 0}, COMPLETED, None),
    (
        "a rank raised, the others were stopped",
        [TERMINATED, {"exit_code": 1, "facts": failed()}, TERMINATED],
        {},
        FAILED,
        1,
    ),
    (
        "a rank raised after another had lost it",
        [
            {"exit_code": 1, "facts": failed(message="Connection closed by peer"), "ended_at": 1020.0},
            {"exit_code": 1, "facts": failed(), "ended_at": 1019.0},
        ],
        {},
        FAILED,
        1,
    ),
    (
        "a rank was killed, and another node's clock is behind",
        [
            {"exit_code": 1, "facts": failed(message="Connection closed by peer"), "ended_at": 1019.0},
            {**KILLED, "oom_kills": 0, "ended_at": 1020.0},
        ],
        {},
        FAILED,
        1,
    ),
    (
        "a rank lost another one, and its clock is behind",
        [
            {"exit_code": 1, "facts": failed(type="RankLost"), "ended_at": 1019.0},
            {"exit_code": 1, "facts": failed(), "ended_at": 1020.0},
        ],
        {},
        FAILED,
        1,
    ),
    ("two ranks lost each other", 2 * [{"exit_code": 1, "facts": failed(type="RankLost")}], {}, FAILED, 0),
    (
        "a rank ran out of memory, and one that lost it ended sooner",
        [
            {"exit_code": 1, "facts": failed(message="Connection closed by peer"), "ended_at": 1019.0},
            {"exit_code": 1, "facts": failed(OUT_OF_MEMORY), "ended_at": 1020.0},
        ],
        {},
        OUT_OF_MEMORY,
        1,
    ),
    (
        "it cannot run on one node, and the other rank failed before that was told",
        [
            {"exit_code": 1, "facts": failed(), "ended_at": 1019.0},
            {"exit_code": 1, "facts": failed(UNSUPPORTED), "ended_at": 1020.0},
        ],
        {},
        UNSUPPORTED,
        1,
    ),
    ("a rank crashed", [SEGFAULT, TERMINATED], {"exit_status": 139}, FAILED, 0),
    ("a rank crashed after all its work", [{"signal": "SIGSEGV", "exit_code": None}], {"exit_status": 139}, FAILED, 0),
    ("a rank exited by itself", [{"exit_code": 3, "facts": None}], {"exit_status": 3}, FAILED, 0),
    ("the kernel killed a rank, memory was out", [{**KILLED, "oom_kills": 1}], {"exit_status": 137}, OUT_OF_MEMORY, 0),
    ("someone killed a rank", [{**KILLED, "oom_kills": 0}], {"exit_status": 137}, FAILED, 0),
    ("someone killed a rank on an old kernel", [{**KILLED, "oom_kills": None}], {"exit_status": 137}, FAILED, 0),
    ("a rank crashed while another ran out of memory", [{**SEGFAULT, "oom_kills": 1}], {}, FAILED, 0),
    (
        "the framework ran out of memory",
        [{"exit_code": 1, "facts": failed(OUT_OF_MEMORY)}, TERMINATED],
        {},
        OUT_OF_MEMORY,
        0,
    ),
    ("it cannot run here", [{"facts": failed(UNSUPPORTED)}], {"exit_status": 0}, UNSUPPORTED, 0),
    (
        "it cannot run here on any rank",
        [{"facts": failed(UNSUPPORTED)}, {"facts": failed(UNSUPPORTED)}],
        {"exit_status": 0},
        UNSUPPORTED,
        0,
    ),
    ("stopped well before its time", [TERMINATED], {"stopped": True, "elapsed_s": 560.0}, CANCELLED, None),
    ("stopped at its time", [TERMINATED], {"stopped": True, "elapsed_s": 600.0}, TIMEOUT, None),
    ("stopped after its time", [TERMINATED, TERMINATED], {"stopped": True, "elapsed_s": 631.0}, TIMEOUT, None),
    ("only the ranks were told", [TERMINATED], {"stopped": False, "elapsed_s": 601.0}, TIMEOUT, None),
    (
        "the stop reached the worker before its supervisor",
        [{**TERMINATED, "stopped_by": None}, {**KILLED, "oom_kills": 0}],
        {"stopped": True, "elapsed_s": 20.0},
        CANCELLED,
        None,
    ),
    (
        "someone ended a rank, and nobody the script",
        [{**TERMINATED, "stopped_by": None}],
        {"exit_status": 143},
        FAILED,
        0,
    ),
    ("killed after it ignored the stop", [{**KILLED, "stopped_by": "SIGTERM"}], {"elapsed_s": 20.0}, CANCELLED, None),
    (
        "it raised because it was stopped",
        [{"exit_code": 1, "facts": failed(), "stopped_by": "SIGTERM"}],
        {"stopped": True, "elapsed_s": 20.0},
        CANCELLED,
        None,
    ),
    (
        "it failed before it was stopped",
        [{"exit_code": 1, "facts": failed()}, TERMINATED],
        {"stopped": True, "elapsed_s": 601.0},
        FAILED,
        0,
    ),
]


@pytest.mark.parametrize(
    ("changes", "how", "status", "cause"), [case[1:] for case in SCENARIOS], ids=[case[0] for case in SCENARIOS]
)
def test_the_status_and_the_rank_that_is_the_cause(
    make_rank: MakeRank, changes: list[dict[str, Any]], how: dict[str, Any], status: str, cause: int | None
) -> None:
    ranks = [make_rank(number, **change) for number, change in enumerate(changes)]
    outcome = record.judge(ranks, len(ranks), ending(**how))
    assert outcome.status == status
    assert (outcome.error or {}).get("rank") == cause
    assert (outcome.error is None) == (status == COMPLETED)


@pytest.mark.parametrize("expected", [1, 4])
def test_ranks_that_left_nothing_have_failed(expected: int) -> None:
    outcome = record.judge([], expected, ending(exit_status=213))
    assert outcome.status == FAILED
    assert outcome.error is not None
    assert f"{expected} of {expected} tasks" in outcome.error["message"]
    assert "213" in outcome.error["message"]


def test_one_missing_rank_among_completed_ones_is_a_failure(make_rank: MakeRank) -> None:
    outcome = record.judge([make_rank(0), make_rank(2)], 3, ending())
    assert outcome.status == FAILED
    assert outcome.error is not None
    assert "1 of 3 tasks" in outcome.error["message"]


@pytest.mark.parametrize(
    "words",
    [
        "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM Killed.",
        "srun: error: n1: task 0: Out Of Memory",
        "slurmstepd: error: Step 12.0 exceeded memory limit (1100 > 1024), being killed",
        "oom-kill:constraint=CONSTRAINT_MEMCG",
    ],
)
def test_the_log_tells_that_missing_ranks_ran_out_of_memory(
    make_rank: MakeRank, log: Callable[[str], str], words: str
) -> None:
    path = log("starting\n" + words + "\nsrun: Terminating job step\n")
    for ranks in ([], [make_rank(0)]):
        outcome = record.judge(ranks, 2, ending(exit_status=137, log=path))
        assert outcome.status == OUT_OF_MEMORY
        assert outcome.error is not None
        assert words in outcome.error["last_lines"]


def test_missing_ranks_with_an_ordinary_log_have_failed(log: Callable[[str], str]) -> None:
    outcome = record.judge([], 1, ending(log=log("loading room for memory\nsrun: error: cannot start\n")))
    assert outcome.status == FAILED
    assert outcome.error is not None
    assert outcome.error["last_lines"][-1] == "srun: error: cannot start"


def test_where_nothing_started_the_log_says_why_and_srun_only_that(log: Callable[[str], str]) -> None:
    text = "ch-run[7]: error: can't stat: /no/such\nsrun: error: n1: task 0: Exited with exit code 1\n\n"
    outcome = record.judge([], 1, ending(exit_status=1, log=log(text)))
    assert outcome.error is not None
    assert outcome.error["message"] == (
        "1 of 1 tasks left no result; the launcher exited with 1; the log ends: ch-run[7]: error: can't stat: /no/such"
    )


def test_where_some_tasks_left_a_result_the_end_of_the_log_is_not_the_reason(
    log: Callable[[str], str], make_rank: MakeRank
) -> None:
    outcome = record.judge([make_rank(0)], 2, ending(exit_status=1, log=log("chatter\n")))
    assert outcome.error is not None
    assert outcome.error["message"] == "1 of 2 tasks left no result; the launcher exited with 1"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-01T00:00:00 DUE TO TIME LIMIT ***", TIMEOUT),
        (
            "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-01T00:00:00 DUE TO NODE FAILURE ***",
            NODE_FAILURE,
        ),
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-01T00:00:00 DUE TO PREEMPTION ***", CANCELLED),
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-01T00:00:00 ***", CANCELLED),
    ],
)
def test_the_log_tells_why_slurm_ended_a_job(log: Callable[[str], str], words: str, status: str) -> None:
    assert record.judge([], 1, ending(stopped=True, elapsed_s=20.0, log=log(words + "\n"))).status == status


def test_missing_ranks_of_a_stopped_script_were_cancelled() -> None:
    assert record.judge([], 2, ending(stopped=True)).status == CANCELLED


def test_a_killed_rank_is_described_in_words(make_rank: MakeRank) -> None:
    outcome = record.judge([make_rank(0, **SEGFAULT)], 1, ending())
    assert outcome.error is not None
    assert "SIGSEGV" in outcome.error["message"]
    assert outcome.error["last_lines"] == ["Fatal Python error"]


def test_an_error_keeps_what_the_framework_said(make_rank: MakeRank) -> None:
    outcome = record.judge([make_rank(0, exit_code=1, facts=failed())], 1, ending())
    assert outcome.error is not None
    assert outcome.error["type"] == "ValueError"
    assert outcome.error["message"] == "the weights are wrong"
    assert outcome.error["last_lines"] == ["ValueError: the weights are wrong"]


def test_every_status_of_the_table_is_a_known_one() -> None:
    assert {case[3] for case in SCENARIOS} <= set(STATUSES)


Assemble = Callable[..., dict[str, Any]]


@pytest.fixture
def assemble(make_planned: Callable[..., PlannedRun], sweep_description: dict[str, Any]) -> Assemble:
    def make(ranks: list[Rank], environment: dict[str, str] | None = None, **parameters: Any) -> dict[str, Any]:
        outcome = record.judge(ranks, max(1, len(ranks)), ending(exit_status=0))
        planned = make_planned(**parameters)
        return record.assemble(planned, sweep_description, "job-1", 3, ranks, outcome, 10.0, environment or {})

    return make


TOGETHER = {"strategy": "ddp", "task": "training"}, {"strategy": "fsdp", "task": "inference"}
APART = {"strategy": "ddp", "task": "inference"}


@pytest.fixture
def times_of(assemble: Assemble, make_rank: MakeRank, make_facts: Callable[..., dict[str, Any]]) -> Callable[..., Any]:
    """The times in the record of ranks that took these."""

    def joined(parameters: dict[str, Any], *times: list[float]) -> list[float]:
        def facts(own: list[float]) -> dict[str, Any]:
            plain = make_facts()
            return {**plain, "samples": {**plain["samples"], "times_s": own}}

        ranks = [make_rank(number, facts=facts(own)) for number, own in enumerate(times)]
        found: list[float] = assemble(ranks, tasks_per_node=len(times), **parameters)["samples"]["times_s"]
        return found

    return joined


@pytest.mark.parametrize("parameters", TOGETHER, ids=["training", "sharded inference"])
def test_a_step_of_ranks_that_wait_for_each_other_lasts_as_long_as_on_the_slowest(
    times_of: Callable[..., Any], parameters: dict[str, Any]
) -> None:
    assert times_of(parameters, [1.0, 5.0, 3.0], [2.0, 4.0, 3.5]) == [2.0, 5.0, 3.5]


def test_the_rates_of_replicas_that_only_infer_add_up(times_of: Callable[..., Any]) -> None:
    """Two ranks of 1 and of 1/3 steps a second make 4/3 steps in a second: two of them in 1.5 seconds."""
    assert times_of(APART, [1.0, 2.0], [3.0, 2.0]) == [1.5, 2.0]


def test_a_repetition_that_did_not_complete_has_no_samples(assemble: Assemble, make_rank: MakeRank) -> None:
    made = assemble([make_rank(0), make_rank(1, exit_code=1, facts=failed())])
    assert made["status"] == FAILED
    assert made["samples"] is None


def test_peak_memory_is_that_of_the_largest_rank(
    assemble: Assemble, make_rank: MakeRank, make_facts: Callable[..., dict[str, Any]]
) -> None:
    ranks = [make_rank(n, facts=make_facts(peak_memory_bytes=n * 10, peak_device_bytes=None)) for n in (1, 3, 2)]
    made = assemble(ranks)
    assert made["peak_memory_bytes"] == 30
    assert made["peak_device_bytes"] is None


def test_each_node_is_listed_once_and_each_rank_is_summed_up(
    assemble: Assemble, make_rank: MakeRank, make_facts: Callable[..., dict[str, Any]]
) -> None:
    hosts = ("n1", "n1", "n2")
    nodes = [{"hostname": name, "cpu_model": "a CPU"} for name in hosts]
    facts = make_facts(gpus=["a GPU"])
    made = assemble([make_rank(n, node=nodes[n], host=host, facts=facts) for n, host in enumerate(hosts)])
    assert [node["hostname"] for node in made["nodes"]] == ["n1", "n2"]
    assert [(rank["rank"], rank["host"], rank["status"]) for rank in made["ranks"]] == [
        (0, "n1", COMPLETED),
        (1, "n1", COMPLETED),
        (2, "n2", COMPLETED),
    ]
    assert [rank["gpus"] for rank in made["ranks"]] == 3 * [["a GPU"]]


def test_nothing_is_invented_for_a_repetition_that_never_started(assemble: Assemble) -> None:
    made = assemble([])
    nothing = ("samples", "work", "threads", "packages", "python", "peak_memory_bytes", "import_s", "gpus")
    assert {name: made[name] for name in nothing} == dict.fromkeys(nothing)
    assert made["ranks"] == []
    assert made["started_at"] < made["ended_at"]


def test_a_record_starts_when_its_first_rank_did(assemble: Assemble, make_rank: MakeRank) -> None:
    made = assemble([make_rank(0, started_at=1005.0), make_rank(1, started_at=1002.5)])
    assert made["started_at"] == "1970-01-01T00:16:42.500+00:00"


def test_a_record_says_where_it_was_made_and_what_of(assemble: Assemble, make_rank: MakeRank) -> None:
    made = assemble([make_rank(0)], {"SLURM_JOB_ID": "4711", "OMP_NUM_THREADS": "2", "MY_API_TOKEN": "hunter2hunter2"})
    assert (made["sweep"], made["experiment"], made["site"]) == ("sweep-1", "experiment-1", "laptop")
    assert (made["job"], made["element"], made["case_id"], made["repetition"]) == ("job-1", 3, "0123456789ab", 0)
    assert made["slurm"] == {"job_id": "4711"}
    assert made["environment"] == {"OMP_NUM_THREADS": "2"}
    assert made["parameters"]["model"] == "mlp"


def test_the_variables_are_those_that_rank_0_saw_in_its_container(assemble: Assemble, make_rank: MakeRank) -> None:
    ranks = [make_rank(0, environment={"OMP_PLACES": "cores"}), make_rank(1, environment={"OMP_PLACES": "threads"})]
    assert assemble(ranks, {"OMP_PLACES": "sockets"})["environment"] == {"OMP_PLACES": "cores"}
    assert assemble([], {"OMP_PLACES": "sockets"})["environment"] == {"OMP_PLACES": "sockets"}


Write = Callable[..., dict[str, Any]]


@pytest.fixture
def write(tmp_path: Path, make_planned: Callable[..., PlannedRun], sweep_description: dict[str, Any]) -> Write:
    """Write the record of a repetition whose ranks left these files."""

    def make(ranks: list[Rank], **changes: Any) -> dict[str, Any]:
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        for rank in ranks:
            (scratch / f"rank-{rank['rank']}.json").write_text(json.dumps(rank))
        (scratch / "rank-9.json.part").write_text("{")
        path = str(tmp_path / "records" / "job-1" / "0.jsonl")
        return record.write(
            make_planned(**changes), sweep_description, "job-1", 0, ending(exit_status=0), str(scratch), path
        )

    return make


def lines(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "records" / "job-1" / "0.jsonl").read_text().splitlines()]


def test_a_record_is_one_line_and_the_scratch_folder_is_gone(tmp_path: Path, write: Write, make_rank: MakeRank) -> None:
    written = write([make_rank(0)])
    assert lines(tmp_path) == [json.loads(json.dumps(written))]
    assert not (tmp_path / "scratch").exists()


def test_attempts_of_one_repetition_are_counted(tmp_path: Path, write: Write, make_rank: MakeRank) -> None:
    write([make_rank(0, exit_code=1, facts=failed())])
    write([])
    write([make_rank(0)])
    assert [(line["attempt"], line["status"]) for line in lines(tmp_path)] == [
        (1, FAILED),
        (2, FAILED),
        (3, COMPLETED),
    ]


def test_ranks_come_in_their_order_whatever_their_files_are_called(write: Write, make_rank: MakeRank) -> None:
    written = write([make_rank(number) for number in (10, 2, 0, 1, *range(3, 10))], strategy="ddp", tasks_per_node=11)
    assert written["status"] == COMPLETED
    assert [rank["rank"] for rank in written["ranks"]] == list(range(11))


def test_a_token_in_the_environment_reaches_no_part_of_a_written_record(
    tmp_path: Path, write: Write, make_rank: MakeRank, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "hunter2-hunter2"  # noqa: S105 - not a real one
    monkeypatch.setenv("MY_API_TOKEN", secret)
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/opt/{secret}/lib")
    facts = failed(message=f"no login with {secret}", last_lines=[f"raise Refused({secret!r})"])
    write([make_rank(0, exit_code=1, facts={**facts, "warnings": [secret]}, last_lines=[secret])])
    assert secret not in (tmp_path / "records" / "job-1" / "0.jsonl").read_text()
    assert "[redacted]" in lines(tmp_path)[0]["error"]["message"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "0.jsonl"


def test_records_are_appended_as_whole_lines(path: Path) -> None:
    for number in range(3):
        record.append({"n": number, "text": "a\nb\u2028c"}, str(path))
    assert path.read_bytes().count(b"\n") == 3
    assert [json.loads(line)["n"] for line in path.read_bytes().splitlines()] == [0, 1, 2]


def test_a_record_that_the_system_takes_in_small_pieces_is_still_whole(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:7]))
    record.append({"text": "x" * 100}, str(path))
    assert json.loads(path.read_text()) == {"text": "x" * 100}


@pytest.mark.parametrize("room", [0, 1, 30])
@pytest.mark.parametrize("before", [b"", b'{"n": 0}\n'])
def test_a_disk_that_is_full_at_the_write_call_leaves_the_file_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch, room: int, before: bytes
) -> None:
    """The disk is full at the edge only: os.write takes `room` bytes, then raises ENOSPC."""
    path.parent.mkdir()
    path.write_bytes(before)
    real = os.write
    left = [room]

    def full(handle: int, data: bytes) -> int:
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real(handle, data[: left[0]])
        left[0] -= written
        return written

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        record.append({"text": "x" * 100}, str(path))
    assert path.read_bytes() == before


def test_a_disk_that_is_full_at_fsync_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS tells only then."""
    record.append({"n": 0}, str(path))
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        record.append({"n": 1}, str(path))
    assert path.read_bytes() == before


def test_a_line_that_an_earlier_death_cut_off_does_not_swallow_the_next_record(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b'{"n": 0}\n{"n": 1, "samp')
    record.append({"n": 2}, str(path))
    assert json.loads(path.read_bytes().splitlines()[-1]) == {"n": 2}


def test_the_tail_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"".join(b"line %d \xff\n" % number for number in range(10000)))
    last = record.tail(str(tmp_path / "log"))
    assert last[-1] == "line 9999 \ufffd"
    assert 0 < len(last) <= 30
    assert all(line.startswith("line ") for line in last)


def test_a_log_that_is_not_there_has_no_last_lines(tmp_path: Path) -> None:
    assert record.tail(str(tmp_path / "none")) == []
    assert record.tail(str(tmp_path)) == []
