"""From rank files to the one line of a record."""

from __future__ import annotations

import errno
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.profiling.operator_row import SPAN, OperatorRow
from hpcbench.core.record import RecordKey
from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.status import COMPLETED, FAILED
from hpcbench.core.typed_json import to_json
from hpcbench.node.results import record_writer
from hpcbench.node.results.outcome import Ending, conclude, judge
from tests.fixtures.records import a_record

Rank = dict[str, Any]
MakeRank = Callable[..., Rank]

Assemble = Callable[..., dict[str, Any]]

RECORDS, TIMELINES = "records/job-1.abcd/42_0.jsonl", "job-1.abcd/42_0.jsonl.gz"
KEY = RecordKey("job-1", 3, "job-1.abcd", 1)
ENDED = Ending(exit_status=0, stopped=False, elapsed_s=10.0, limit_s=600.0, log="")


def failed(message: str = "the weights are wrong", last_lines: Sequence[str] = ()) -> dict[str, Any]:
    error = {"type": "ValueError", "message": message, "last_lines": list(last_lines)}
    return {"warnings": [], "status": FAILED, "error": error}


@pytest.fixture
def assemble(make_planned: Callable[..., PlannedRun], sweep_description: dict[str, Any]) -> Assemble:
    def make(ranks: list[Rank], environment: dict[str, str] | None = None, **parameters: Any) -> dict[str, Any]:
        outcome = judge(ranks, max(1, len(ranks)), ENDED)
        planned = make_planned(**parameters)
        made = record_writer.assemble(planned, sweep_description, KEY, ranks, outcome, 10.0, environment or {})
        found: dict[str, Any] = to_json(made)
        return found

    return make


TOGETHER = {"strategy": "ddp", "task": "training"}, {"strategy": "fsdp", "task": "inference"}
APART = {"strategy": "ddp", "task": "inference"}


@pytest.fixture
def times_of(assemble: Assemble, make_rank: MakeRank, make_facts: Callable[..., dict[str, Any]]) -> Callable[..., Any]:
    """The times in the record of ranks that took these."""

    def joined(parameters: dict[str, Any], *times: list[float]) -> list[float]:
        def facts(own: list[float]) -> dict[str, Any]:
            plain = make_facts()
            return {**plain, "measurements": {**plain["measurements"], "times_s": own}}

        ranks = [make_rank(number, facts=facts(own)) for number, own in enumerate(times)]
        found: list[float] = assemble(ranks, tasks_per_node=len(times), **parameters)["measurements"]["times_s"]
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


@pytest.mark.parametrize("task", ["inference", "training"])
def test_the_rates_of_instances_add_up_since_each_trains_alone_too(
    assemble: Assemble, make_rank: MakeRank, make_facts: Callable[..., dict[str, Any]], task: str
) -> None:
    samples = [{**make_facts()["measurements"], "times_s": [time_s]} for time_s in (1.0, 3.0)]
    ranks = [make_rank(rank, facts=make_facts(measurements=each)) for rank, each in enumerate(samples)]
    made = assemble(ranks, task=task, instances=2, cpus_per_task=2)
    assert made["measurements"]["times_s"] == [1.5]
    (warning,) = made["warnings"]
    assert warning.startswith("the step time of the slowest rank is over 10 % longer than that of the fastest")


def test_ranks_that_are_about_as_fast_are_no_reason_to_warn(
    assemble: Assemble, make_rank: MakeRank, make_facts: Callable[..., dict[str, Any]]
) -> None:
    samples = [{**make_facts()["measurements"], "times_s": [time_s]} for time_s in (1.0, 1.05)]
    ranks = [make_rank(rank, facts=make_facts(measurements=each)) for rank, each in enumerate(samples)]
    assert assemble(ranks, instances=2, cpus_per_task=2)["warnings"] == []


def test_a_replica_whose_step_is_shorter_than_the_clock_can_tell_keeps_the_record(times_of: Callable[..., Any]) -> None:
    assert times_of(APART, [0.0, 2.0], [3.0, 2.0]) == [0.0, 2.0]


def test_a_repetition_that_did_not_complete_has_no_samples(assemble: Assemble, make_rank: MakeRank) -> None:
    made = assemble([make_rank(0), make_rank(1, exit_code=1, facts=failed())])
    assert made["status"] == FAILED
    assert made["measurements"] is None


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
    nothing = ("measurements", "work", "threads", "packages", "python", "peak_memory_bytes", "import_s", "gpus")
    assert {name: made[name] for name in nothing} == dict.fromkeys(nothing)
    assert made["ranks"] == []
    assert made["started_at"] < made["ended_at"]


def test_a_record_starts_when_its_first_rank_did(assemble: Assemble, make_rank: MakeRank) -> None:
    made = assemble([make_rank(0, started_at=1005.0), make_rank(1, started_at=1002.5)])
    assert made["started_at"] == "1970-01-01T00:16:42.500+00:00"


def test_a_record_says_where_it_was_made_and_what_of(assemble: Assemble, make_rank: MakeRank) -> None:
    made = assemble([make_rank(0)], {"SLURM_JOB_ID": "4711", "OMP_NUM_THREADS": "2", "MY_API_TOKEN": "hunter2hunter2"})
    assert (made["sweep"], made["experiment"], made["site"]) == ("sweep-1", "experiment-1", "laptop")
    assert (made["job"], made["element"], made["batch"], made["attempt"]) == ("job-1", 3, "job-1.abcd", 1)
    assert (made["case_id"], made["run"]) == ("0123456789ab", 0)
    assert made["slurm"] == {"job_id": "4711"}
    assert made["environment"] == {"OMP_NUM_THREADS": "2"}
    assert made["parameters"]["model"] == "mlp"


def test_the_variables_are_those_that_rank_0_saw_in_its_container(assemble: Assemble, make_rank: MakeRank) -> None:
    ranks = [make_rank(0, environment={"OMP_PLACES": "cores"}), make_rank(1, environment={"OMP_PLACES": "threads"})]
    assert assemble(ranks, {"OMP_PLACES": "sockets"})["environment"] == {"OMP_PLACES": "cores"}
    assert assemble([], {"OMP_PLACES": "sockets"})["environment"] == {"OMP_PLACES": "sockets"}


def test_variables_that_no_file_sets_are_named_with_a_warning(assemble: Assemble, make_rank: MakeRank) -> None:
    """OMP_PLACES is in the site file."""
    seen = {"OMP_NUM_THREADS": "1", "OMP_PLACES": "cores", "OMP_WAIT_POLICY": "PASSIVE"}
    rank = make_rank(0, environment=seen, outside=["OMP_NUM_THREADS", "OMP_PLACES"])
    made = assemble([rank], {})
    assert made["outside"] == {"OMP_NUM_THREADS": "1"}
    assert made["warnings"][-1] == "set outside the experiment and the site file: OMP_NUM_THREADS=1 (thread count)"
    assert assemble([make_rank(0, environment=seen, outside=[])], {})["outside"] == {}


Write = Callable[..., dict[str, Any]]


@pytest.fixture
def write(tmp_path: Path, make_planned: Callable[..., PlannedRun], sweep_description: dict[str, Any]) -> Write:
    """Write the record of a run whose ranks left these files."""

    def make(ranks: list[Rank], attempt: int = 1, **changes: Any) -> dict[str, Any]:
        scratch = tmp_path / "scratch"
        scratch.mkdir(exist_ok=True)
        for rank in ranks:
            (scratch / f"rank-{rank['rank']}.json").write_text(json.dumps(rank))
        (scratch / "rank-9.json.part").write_text("{")
        key, planned = KEY._replace(attempt=attempt), make_planned(**changes)
        read = record_writer.read_ranks(str(scratch))
        outcome = conclude(planned, sweep_description, read, ENDED, str(scratch))
        made = record_writer.write(
            planned, sweep_description, key, outcome, read, str(scratch), str(tmp_path / RECORDS), ENDED.elapsed_s
        )
        found: dict[str, Any] = to_json(made)
        return found

    return make


def lines(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / RECORDS).read_text().splitlines()]


def test_a_record_is_one_line_and_the_scratch_folder_is_gone(tmp_path: Path, write: Write, make_rank: MakeRank) -> None:
    written = write([make_rank(0)])
    assert lines(tmp_path) == [json.loads(json.dumps(written))]
    assert not (tmp_path / "scratch").exists()


def put_row(tmp_path: Path) -> Path:
    """The rows of an operator profile in the scratch folder."""
    path = tmp_path / "scratch/operators.jsonl"
    path.parent.mkdir()
    path.write_text(json.dumps(to_json(OperatorRow("gemm", "aten.mm.default", "forward", "{}"))) + "\n")
    return path


def test_the_rows_of_a_profile_are_kept_before_the_record(
    tmp_path: Path, write: Write, make_rank: MakeRank, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(record: Any, path: str) -> None:
        raise KeyboardInterrupt

    put_row(tmp_path)
    monkeypatch.setattr(record_writer, "append", die)
    with pytest.raises(KeyboardInterrupt):
        write([make_rank(0)])
    assert len((tmp_path / "operators/job-1.abcd/42_0.jsonl").read_text().splitlines()) == 1


def test_rows_that_cannot_be_kept_stay_in_the_scratch_folder(tmp_path: Path, write: Write, make_rank: MakeRank) -> None:
    rows = put_row(tmp_path)
    (tmp_path / "operators").write_text("in the way")
    write([make_rank(0)])
    assert len(lines(tmp_path)) == 1
    assert rows.exists()


def test_the_warnings_of_a_supervisor_stay_if_its_worker_left_no_result(write: Write, make_rank: MakeRank) -> None:
    written = write([make_rank(0, exit_code=None, signal="SIGKILL", facts=None, warnings=["a clock is changed"])])
    assert (written["status"], written["warnings"]) == (FAILED, ["a clock is changed"])


def test_the_attempts_of_a_job_share_a_file(tmp_path: Path, write: Write, make_rank: MakeRank) -> None:
    write([make_rank(0, exit_code=1, facts=failed())], 1)
    write([], 2)
    write([make_rank(0)], 3)
    assert [(line["attempt"], line["status"]) for line in lines(tmp_path)] == [
        (1, FAILED),
        (2, FAILED),
        (3, COMPLETED),
    ]


def test_ranks_come_in_their_order_whatever_their_files_are_called(write: Write, make_rank: MakeRank) -> None:
    written = write([make_rank(number) for number in (10, 2, 0, 1, *range(3, 10))], strategy="ddp", tasks_per_node=11)
    assert written["status"] == COMPLETED
    assert [rank["rank"] for rank in written["ranks"]] == list(range(11))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"measurements": {"times_s": "fast", "windows": [], "steps_per_measurement": 1}},
            "measurements.times_s is a string",
        ),
        (
            {"measurements": {"times_s": [1.0], "windows": [[0.0, 1.0]]}},
            "measurements.steps_per_measurement is missing",
        ),
        ({"work": {"parameter_count": 1.5}}, "work.parameter_count is a number"),
        ({"threads": [4]}, "threads is an array"),
    ],
)
def test_a_rank_whose_result_is_not_of_the_types_of_a_record_has_failed_and_says_in_what(
    tmp_path: Path,
    write: Write,
    make_rank: MakeRank,
    make_facts: Callable[..., dict[str, Any]],
    changes: dict[str, Any],
    words: str,
) -> None:
    write([make_rank(0, facts=make_facts(**changes))])
    (line,) = lines(tmp_path)
    assert (line["status"], line["error"]["message"]) == (FAILED, f"the result of rank 0 is invalid: {words}")


def test_a_token_in_the_environment_reaches_no_part_of_a_written_record(
    tmp_path: Path, write: Write, make_rank: MakeRank, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "hunter2-hunter2"  # noqa: S105 - not a real one
    monkeypatch.setenv("MY_API_TOKEN", secret)
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/opt/{secret}/lib")
    facts = failed(message=f"no login with {secret}", last_lines=[f"raise Refused({secret!r})"])
    write([make_rank(0, exit_code=1, facts={**facts, "warnings": [secret]}, last_lines=[secret])])
    assert secret not in (tmp_path / RECORDS).read_text()
    assert "[redacted]" in lines(tmp_path)[0]["error"]["message"]


PutTimeline = Callable[..., Path]


def kept(tmp_path: Path) -> list[str]:
    folder = tmp_path / "timelines"
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


def test_all_timelines_of_a_job_are_kept_in_one_compressed_file(
    tmp_path: Path, write: Write, make_rank: MakeRank, put_timeline: PutTimeline
) -> None:
    plain = b""
    for _ in range(2):
        for host in ("n1", "n2"):
            plain += put_timeline(tmp_path / "scratch", host).read_bytes()
        write([make_rank(0)])
    assert kept(tmp_path) == [TIMELINES]
    assert gzip.decompress((tmp_path / "timelines" / TIMELINES).read_bytes()) == plain
    assert not (tmp_path / "scratch").exists()


def test_a_record_has_the_verdict_on_its_samples_and_what_its_node_did(
    tmp_path: Path, write: Write, make_rank: MakeRank, put_timeline: PutTimeline
) -> None:
    put_timeline(tmp_path / "scratch", throttled=0.25)
    rank = make_rank(0)
    rank["facts"][SPAN] = [5.0, 7.0]
    write([rank])
    (line,) = lines(tmp_path)
    assert any("interference while operators were timed (throttling)" in warning for warning in line["warnings"])
    found = line["interference"]
    assert (found["verdict"], found["reason"], found["windows"]) == ("interference", None, [{"throttling": 0.25}])
    assert found["found"][0]["causes"] == ["throttling"]
    (node,) = line["monitors"]
    assert (node["host"], node["absent"]) == ("n1", {"rapl": "no RAPL"})


def test_a_record_without_a_timeline_is_unmonitored_and_says_why(write: Write, make_rank: MakeRank) -> None:
    written = write([make_rank(0)])
    assert written["interference"]["verdict"] == "unmonitored"
    assert written["interference"]["reason"] == "no timeline of a monitor found on n1"
    assert written["monitors"] == []


def test_what_did_not_complete_has_no_verdict_and_keeps_its_timeline(
    tmp_path: Path, write: Write, make_rank: MakeRank, put_timeline: PutTimeline
) -> None:
    put_timeline(tmp_path / "scratch")
    written = write([make_rank(0, exit_code=1, facts=failed())])
    assert (written["interference"], written["monitors"]) == (None, [])
    assert kept(tmp_path) == [TIMELINES]


def test_a_timeline_that_is_damaged_does_not_cost_the_record(tmp_path: Path, write: Write, make_rank: MakeRank) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "monitor-n1.jsonl").write_bytes(b"\xff\0\0")
    assert write([make_rank(0)])["interference"]["verdict"] == "unmonitored"
    assert kept(tmp_path) == [TIMELINES]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "0.jsonl"


def test_records_are_appended_as_whole_lines(path: Path) -> None:
    for number in range(3):
        record_writer.append(a_record(element=number, warnings=["a\nb\u2028c"]), str(path))
    assert path.read_bytes().count(b"\n") == 3
    assert [json.loads(line)["element"] for line in path.read_bytes().splitlines()] == [0, 1, 2]


def test_a_record_that_the_system_takes_in_small_pieces_is_still_whole(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:7]))
    record_writer.append({"text": "x" * 100}, str(path))
    assert json.loads(path.read_text()) == {"text": "x" * 100}


@pytest.mark.parametrize("room", [0, 1, 30])
@pytest.mark.parametrize("before", [b"", b'{"n": 0}\n'])
@pytest.mark.parametrize("why", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_or_quota_that_is_faked_at_the_write_call_leaves_the_file_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch, room: int, before: bytes, why: int
) -> None:
    """os.write takes `room` bytes, then raises."""
    path.parent.mkdir()
    path.write_bytes(before)
    real = os.write
    left = [room]

    def full(handle: int, data: bytes) -> int:
        if not left[0]:
            raise OSError(why, os.strerror(why))
        written = real(handle, data[: left[0]])
        left[0] -= written
        return written

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match=os.strerror(why)):
        record_writer.append({"text": "x" * 100}, str(path))
    assert path.read_bytes() == before


def test_a_disk_that_is_full_at_fsync_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS tells only then."""
    record_writer.append({"n": 0}, str(path))
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        record_writer.append(a_record(element=1), str(path))
    assert path.read_bytes() == before


def test_a_line_that_an_earlier_death_cut_off_does_not_swallow_the_next_record(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b'{"n": 0}\n{"n": 1, "samp')
    record_writer.append(a_record(element=2), str(path))
    assert json.loads(path.read_bytes().splitlines()[-1])["element"] == 2


@pytest.mark.integration
def test_records_that_are_written_at_the_same_time_are_all_whole(path: Path) -> None:
    """By runs side by side, which share the file of their job."""
    program = (
        "import sys\nfrom hpcbench.node.results import record_writer\nfrom tests.fixtures.records import a_record\n"
    )
    program += "for n in range(200): record_writer.append(a_record(element=n, warnings=['x' * 5000]), sys.argv[1])\n"
    writers = [subprocess.Popen([sys.executable, "-c", program, str(path)]) for _ in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    written = [json.loads(line)["element"] for line in path.read_bytes().splitlines()]
    assert sorted(written) == sorted(3 * list(range(200)))
