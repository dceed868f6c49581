"""A command in the worker's place, through the real zipapp: from the planned run to the record."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.config.metrics import Metric
from hpcbench.core.metrics.kept_output import SEGMENT_BYTES
from hpcbench.core.run_spec import PlannedRun
from hpcbench.node.launch import command
from tests.node.conftest import RECORD

pytestmark = pytest.mark.integration

SWEEP = {"name": "sweep-1", "site": {"name": "here"}, "hpcbench_version": "0.1.0", "git": None}
RATE = {"rate": {"regex": "rate: (.*)", "unit": "it/s"}}


class Trial:
    """A workspace with one planned command, run as a job script runs it."""

    def __init__(self, root: Path, zipapp: Path, planned: PlannedRun, metrics: dict[str, Any], expect: list[str]):
        self.root, self.zipapp = root, zipapp
        self.sweep = root / "jobs" / "sweep-1"
        self.scratch = root / "results" / "running" / "job-001" / "0-42-0-1"
        self.records = root / "results" / "records" / "job-001" / "local.jsonl"
        self.sweep.mkdir(parents=True)
        specs = {name: Metric.model_validate(given).model_dump(mode="json") for name, given in metrics.items()}
        experiment = {"name": "trial", "metrics": specs, "expect": expect, "retry": {"max": 0, "on": []}}
        (self.sweep / "sweep.json").write_text(json.dumps({**SWEEP, "experiment": experiment}))
        (self.sweep / "job-001.jsonl").write_text(planned.as_line() + "\n")

    def words(self, verb: str, *options: str, python: str = sys.executable) -> list[str]:
        job = str(self.sweep / "job-001.jsonl")
        return [python, str(self.zipapp), verb, job, "0", "--scratch", str(self.scratch), *options]

    def rank(self, environment: dict[str, str], *options: str, **settings: Any) -> subprocess.CompletedProcess[str]:
        words = self.words("rank", *options)
        return subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=60, check=False, **settings
        )

    def record(self, exit_status: int, environment: dict[str, str]) -> dict[str, Any]:
        times = {"elapsed_s": 1.0, "limit_s": 60.0}
        ending = json.dumps({"exit_status": exit_status, "stopped": False, "log": "", **times})
        files = [str(path) for path in (self.zipapp, self.sweep / "job-001.jsonl", self.scratch, self.records)]
        words = [sys.executable, "-c", RECORD, *files, "job-001", ending]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        record: dict[str, Any] = json.loads(self.records.read_text().splitlines()[-1])
        return record


Make = Callable[..., Trial]
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def make_trial(tmp_path: Path, zipapp: Path, make_planned: Callable[..., PlannedRun]) -> Make:
    def make(
        line: str, *, metrics: dict[str, Any] | None = None, expect: tuple[str, ...] = (), **parameters: Any
    ) -> Trial:
        planned = make_planned(framework="command", model=None, command=line, **parameters)
        return Trial(tmp_path, zipapp, planned, metrics or {}, list(expect))

    return make


@pytest.fixture
def run(make_trial: Make, clean_environment: dict[str, str]) -> Run:
    """The record of a command."""

    def make(line: str, **settings: Any) -> dict[str, Any]:
        trial = make_trial(line, **settings)
        done = trial.rank(clean_environment)
        return {**trial.record(done.returncode, clean_environment), "_printed": (done.stdout, done.stderr)}

    return make


def test_a_command_becomes_a_record_with_its_elapsed_time_and_metrics(run: Run) -> None:
    made = run("sleep 0.3; echo rate: 5; echo 'now what' >&2", metrics=RATE, expect=("^now", "rate"))
    assert made["status"] == "completed"
    assert made["error"] is None
    (elapsed_s,) = made["measurements"]["times_s"]
    assert elapsed_s >= 0.3
    rate = {"value": 5.0, "unit": "it/s", "better": "higher", "count": 1, "values": [5.0], "steps": []}
    rate |= {"reduce": None, "reason": None, "printed_unit": None}
    assert made["metrics"]["rate"] == rate
    assert made["_printed"] == ("rate: 5\n", "now what\n"), "it goes to the log as it came"
    assert made["work"] is None
    assert made["threads"] is None
    assert made["peak_memory_bytes"] > 0


def test_it_runs_in_the_workspace_with_a_folder_of_its_own_that_is_removed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "input").write_text("rate: 7")
    metrics = {"rate": {"regex": "rate: (.)", "file": "deep/result.txt"}}
    made = run('mkdir "$HPCBENCH_RUN/deep"; cp input "$HPCBENCH_RUN/deep/result.txt"; pwd', metrics=metrics)
    assert made["metrics"]["rate"]["value"] == 7.0
    assert made["_printed"][0] == f"{tmp_path}\n"
    assert list((tmp_path / "results" / "running" / "job-001").iterdir()) == []


def test_it_and_all_that_it_starts_are_marked_as_the_repetitions_own(run: Run) -> None:
    """By the name of its folder, which the monitor is given, too."""
    made = run("echo $HPCBENCH_MARK; bash -c 'echo $HPCBENCH_MARK'")
    assert made["_printed"][0] == "0-42-0-1\n0-42-0-1\n"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("echo so far; exit 3", "the command exited with 3: so far"),
        ("echo the reason >&2; sleep 0.2; echo 99 % done; exit 3", "the command exited with 3: the reason"),
        ("./no-such-program", "the command exited with 127: bash: line 1: ./no-such-program: No such file"),
        ("false; echo rate: 5", "the command exited with 1"),
        ("false | cat; echo rate: 5", "the command exited with 1"),
        ("if; then", "the command exited with 2: bash: -c: line 1: "),
    ],
)
def test_an_exit_status_other_than_zero_is_a_failure(line: str, words: str, run: Run) -> None:
    made = run(line, metrics=RATE)
    assert made["status"] == "failed"
    assert made["error"]["type"] == "exit"
    assert made["error"]["message"].startswith(words)
    assert made["measurements"] is None
    assert made["metrics"] is None


@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        (
            "ulimit -v 400000; {python} -c 'bytearray(10**9)'",
            "out_of_memory",
            "the command ran out of memory: MemoryError",
        ),
        ("{python} -c 'print(2); bytearray(10**15); print(3)'", "out_of_memory", "MemoryError"),
        ("{python} -c 'bytearray(10**15)' || exit 2", "failed", "exited with 2"),
        ("echo MemoryError >&2; exit 1", "failed", "exited with 1: MemoryError"),
        ("{python} -c 'raise RuntimeError(\"out of memory\")'", "failed", "RuntimeError: out of memory"),
        (
            "{python} -c 'raise RuntimeError(\"CUDA error: out of memory\")'",
            "out_of_memory",
            "CUDA error: out of memory",
        ),
    ],
)
def test_a_python_program_that_ends_for_want_of_memory_ran_out_of_memory(
    line: str, status: str, words: str, run: Run
) -> None:
    record = run(line.replace("{python}", sys.executable))
    assert record["status"] == status
    assert words in record["error"]["message"]


def test_a_signal_is_named(run: Run) -> None:
    made = run("kill -SEGV $$")
    assert (made["status"], made["error"]["signal"]) == ("failed", "SIGSEGV")


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        (RATE, "the pattern 'rate: (.*)' was not found in the output"),
        ({"x": {"regex": "x=(.)"}}, "the pattern 'x=(.)' was found 2 times in the output: 1, 2; set `reduce`"),
        ({"x": {"regex": "y=(.+)"}}, "the pattern 'y=(.+)' in the output: 'fast' is not a number"),
        ({"x": {"json": "a.b"}}, "the JSON path 'a.b' was not found in the output"),
        ({"x": {"csv": "rate"}}, "the column 'rate' was not found in the output"),
        ({"x": {"csv": "rate", "file": "r.csv"}}, "the column 'rate' was not found in the file r.csv"),
        (
            {"x": {"csv": "r", "file": "no.csv"}},
            "the file no.csv in $HPCBENCH_RUN: No such file or directory; there are",
        ),
        ({"x": {"csv": "r", "file": "sub"}}, "the file sub in $HPCBENCH_RUN: Is a directory; there are: r.csv, sub"),
    ],
)
def test_a_command_without_a_metric_has_completed_and_the_metric_says_what_was_found(
    metrics: dict[str, Any], words: str, run: Run
) -> None:
    line = "cd $HPCBENCH_RUN; echo step > r.csv; mkdir sub; echo x=1; echo x=2; echo y=fast"
    made = run(line, metrics={**metrics, "y": {"regex": "x=(2)"}})
    assert (made["status"], made["error"]) == ("completed", None)
    (lacking,) = [metric for name, metric in made["metrics"].items() if name != "y"]
    assert lacking["value"] is None
    assert words in lacking["reason"]
    assert made["metrics"]["y"]["value"] == 2.0
    assert len(made["measurements"]["times_s"]) == 1


def test_every_expected_pattern_must_be_there(run: Run) -> None:
    made = run("echo checksum wrong", expect=("checksum", "checksum ok$"))
    assert made["status"] == "failed"
    assert made["error"]["message"] == "the expected pattern 'checksum ok$' was not found in the output"


def test_json_and_csv_are_not_read_from_standard_error(run: Run) -> None:
    metrics = {"x": {"json": "x"}, "y": {"csv": "y", "file": "y.csv"}}
    line = """echo '{"x": 1}'; echo '{"x": 2}' >&2; printf 'y\\n5\\n' > $HPCBENCH_RUN/y.csv"""
    made = run(line, metrics=metrics)
    assert {name: found["value"] for name, found in made["metrics"].items()} == {"x": 1.0, "y": 5.0}


def kept_of(trial: Trial) -> list[tuple[dict[str, Any], bytes]]:
    """The entries of the file with the output of a trial."""
    (path,) = (trial.root / "results").glob("output/*/*.txt.gz")
    content, entries = gzip.decompress(path.read_bytes()), []
    while content:
        line, _, content = content.partition(b"\n")
        head = json.loads(line)
        entries.append((head, content[: head["bytes"]]))
        content = content[head["bytes"] + 1 :]
    return entries


def test_an_output_of_20_mb_is_searched_to_its_end(run: Run) -> None:
    made = run("head -c 20000000 /dev/zero | tr '\\0' x | fold -w 99; echo; echo rate: 5", metrics=RATE)
    assert (made["metrics"]["rate"]["value"], made["warnings"]) == (5.0, [])


def test_of_a_longer_output_the_beginning_and_the_end_are_searched_and_kept(
    make_trial: Make, clean_environment: dict[str, str]
) -> None:
    metrics = {
        "rate": {"regex": "rate: ([0-9]+)$", "reduce": "last"},
        "first": {"regex": "rate: ([0-9]+)$", "reduce": "first"},
        "mean": {"regex": "rate: ([0-9]+)$", "reduce": "mean"},
        "sum": {"regex": "rate: ([0-9]+)$", "reduce": "sum"},
        "lost": {"regex": "loss: ([0-9]+)$", "reduce": "last"},
    }
    trial = make_trial("echo rate: 1; head -c 40M /dev/zero | tr '\\0' 'x'; echo; echo rate: 3", metrics=metrics)
    trial.rank(clean_environment)
    made = trial.record(0, clean_environment)
    assert {name: metric["value"] for name, metric in made["metrics"].items()} == {
        "rate": 3.0,
        "first": 1.0,
        "mean": 2.0,
        "sum": None,
        "lost": None,
    }
    missing = "24.0 MiB in the middle of the output of rank 0 was not searched"
    assert made["metrics"]["sum"]["reason"] == f"{missing}, and `reduce: sum` requires the whole output"
    limits = "hpcbench keeps the first 8 MiB and the last 8 to 16 MiB of each stream"
    lost = f"the pattern 'loss: ([0-9]+)$' was not found in the output; {missing}: {limits}"
    assert made["metrics"]["lost"]["reason"] == lost
    assert made["warnings"] == [f"metric 'mean': {missing}"]
    (start, head), (end, tail), (errors, nothing) = kept_of(trial)
    assert (start["stream"], start["offset"], len(head)) == ("standard", 0, SEGMENT_BYTES)
    assert (end["stream"], end["offset"] + end["bytes"]) == ("standard", 40 * 2**20 + 17)
    assert head.startswith(b"rate: 1\n")
    assert tail.endswith(b"\nrate: 3\n")
    assert (errors["stream"], nothing) == ("error", b"")


@pytest.mark.parametrize("exit_status", [0, 1])
def test_output_and_files_of_metrics_are_kept_without_secrets(
    exit_status: int, make_trial: Make, clean_environment: dict[str, str]
) -> None:
    line = f"echo out $MY_TOKEN; echo err >&2; echo m,n $MY_TOKEN > $HPCBENCH_RUN/m.csv; exit {exit_status}"
    trial = make_trial(line, metrics={"m": {"csv": "m", "file": "m.csv"}})
    environment = {**clean_environment, "MY_TOKEN": "hunter2-very-secret"}
    trial.rank(environment)
    made = trial.record(exit_status, environment)
    assert "hunter2" not in json.dumps(made)
    if exit_status == 0:
        assert made["metrics"]["m"]["reason"].endswith("the file m.csv, which ends: m,n [redacted]")
    key = {name: made[name] for name in ("run", "job", "element", "batch", "attempt", "started_at")}
    run = {"case": made["case_id"], **key, "offset": 0, "complete": True}
    assert kept_of(trial) == [
        ({**run, "rank": 0, "stream": "standard", "bytes": 15}, b"out [redacted]\n"),
        ({**run, "rank": 0, "stream": "error", "bytes": 4}, b"err\n"),
        ({**run, "file": "m.csv", "bytes": 15}, b"m,n [redacted]\n"),
    ]


@pytest.mark.parametrize(("exit_status", "status"), [(0, "completed"), (1, "failed")])
def test_colours_are_not_part_of_what_a_program_prints(exit_status: int, status: str, run: Run) -> None:
    line = r"printf '\033[32mrate:\033[0m \033[1m123.4\033[0m\n'; printf '\033[31mreason\033[0m\n' >&2; exit %d"
    made = run(line % exit_status, metrics=RATE)
    assert made["status"] == status
    assert (made["metrics"] or {"rate": {"value": 123.4}})["rate"]["value"] == 123.4
    assert made["error"] is None or made["error"]["message"] == "the command exited with 1: reason"


def test_of_a_progress_bar_the_record_keeps_how_it_stood_last(run: Run) -> None:
    made = run(r"printf '\r 10%%\r 99%%\n'; exit 1")
    assert made["error"]["last_lines"] == [" 99%"]


def test_a_secret_that_a_program_prints_reaches_no_record(make_trial: Make, clean_environment: dict[str, str]) -> None:
    trial = make_trial("echo token $MY_TOKEN; exit 1")
    environment = {**clean_environment, "MY_TOKEN": "hunter2-very-secret"}
    trial.rank(environment)
    made = trial.record(1, environment)
    assert "hunter2" not in json.dumps(made)
    assert made["error"]["message"] == "the command exited with 1: token [redacted]"


def test_threads_are_set_for_openmp(run: Run) -> None:
    record = run("echo rate: $OMP_NUM_THREADS", metrics=RATE, intra_op_threads=3, oversubscribe=True)
    assert record["metrics"]["rate"]["value"] == 3.0


def test_a_launchers_descriptor_reaches_the_program(make_trial: Make, clean_environment: dict[str, str]) -> None:
    """PMI-2 speaks to an MPI program through the descriptor that PMI_FD names."""
    trial = make_trial("echo rate: $(head -n 1 <&$PMI_FD)", metrics=RATE)
    read_end, write_end = os.pipe()
    os.write(write_end, b"42\n")
    done = trial.rank({**clean_environment, "PMI_FD": str(read_end)}, pass_fds=(read_end,))
    os.close(read_end)
    os.close(write_end)
    assert trial.record(done.returncode, clean_environment)["metrics"]["rate"]["value"] == 42.0


def test_a_signal_ends_the_command_and_all_that_it_started(
    make_trial: Make, clean_environment: dict[str, str], tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    trial = make_trial("(trap '' TERM; echo $BASHPID > child; while :; do sleep 0.1; done) & wait")
    rank = subprocess.Popen(trial.words("rank"), env=clean_environment, stderr=subprocess.DEVNULL)
    child = tmp_path / "child"
    wait_until(lambda: child.exists() and child.read_text().strip())
    rank.send_signal(signal.SIGTERM)
    assert rank.wait(timeout=30) != 0
    wait_until(lambda: not Path(f"/proc/{child.read_text().strip()}").exists())
    ending = json.loads((trial.scratch / "rank-0.json").read_text())
    assert ending["stopped_by"] == "SIGTERM"


def test_what_a_command_leaves_running_is_ended(run: Run, tmp_path: Path, wait_until: Callable[..., None]) -> None:
    made = run("sleep 1000 & echo $! > child; echo rate: 1", metrics=RATE)
    assert made["status"] == "completed"
    wait_until(lambda: not Path(f"/proc/{(tmp_path / 'child').read_text().strip()}").exists())


def test_two_tasks_are_one_repetition_and_last_as_long_as_the_slower(
    make_trial: Make, clean_environment: dict[str, str]
) -> None:
    trial = make_trial(
        "sleep 0.$HPCBENCH_RANK; echo rate: $HPCBENCH_RANK",
        tasks_per_node=2,
        metrics={"rate": {"regex": "rate: (.)", "reduce": "sum"}},
    )
    for rank in ("0", "1"):
        cpus = {"HPCBENCH_CPUS": str(min(os.sched_getaffinity(0))), "HPCBENCH_LAUNCHER": "1"}
        trial.rank({**clean_environment, **cpus, "HPCBENCH_RANK": rank, "HPCBENCH_RANKS": "2"})
    made = trial.record(0, clean_environment)
    assert made["metrics"]["rate"]["values"] == [0.0, 1.0], "in the order of the ranks"
    assert made["measurements"]["times_s"][0] >= 0.1
    assert [rank["status"] for rank in made["ranks"]] == ["completed", "completed"]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"nodes": 2}, "requests 2 nodes, but this is a single machine"),
        ({"cpus_per_task": 4096}, "requests 4096 CPUs"),
        ({"gpus_per_task": 64}, "requests 64 GPUs, but "),
    ],
)
def test_what_this_machine_lacks_makes_a_command_unsupported(
    parameters: dict[str, int], words: str, make_trial: Make, clean_environment: dict[str, str], tmp_path: Path
) -> None:
    trial = make_trial("touch was-here", **parameters)
    launched = {"HPCBENCH_RANK": "0", "HPCBENCH_RANKS": str(parameters.get("nodes", 1)), "HPCBENCH_LAUNCHER": "1"}
    assert trial.rank({**clean_environment, **launched}).returncode == 1
    made = trial.record(1, clean_environment)
    assert made["status"] == "unsupported"
    assert words in made["error"]["message"]
    assert not (tmp_path / "was-here").exists()


def test_an_environment_without_bash_says_so(make_trial: Make, clean_environment: dict[str, str]) -> None:
    trial = make_trial("true")
    done = trial.rank({**clean_environment, "PATH": "/nowhere"})
    made = trial.record(done.returncode, clean_environment)
    assert made["status"] == "failed"
    assert "cannot be started: [Errno 2] No such file or directory: 'bash'" in made["error"]["message"]


def test_an_environment_without_torchrun_says_what_has_it(
    make_trial: Make, clean_environment: dict[str, str], tmp_path: Path
) -> None:
    trial = make_trial("true", launch="torchrun")
    bash = shutil.which("bash")
    assert bash
    (tmp_path / "bash").symlink_to(bash)
    done = trial.rank({**clean_environment, "PATH": str(tmp_path)}, "--launcher", "torchrun")
    message = trial.record(done.returncode, clean_environment)["error"]["message"]
    assert "'torchrun' (it is part of PyTorch; set `environment` to an environment that contains PyTorch)" in message


def test_a_command_that_hangs_is_ended_at_its_time_limit_with_all_that_it_started(
    make_trial: Make, clean_environment: dict[str, str]
) -> None:
    trial = make_trial("sleep 300 & echo $!; wait; echo went on")
    done = trial.rank(clean_environment, "--limit", "5")
    child, *rest = done.stdout.split()
    assert rest == []
    left = Path("/proc", child, "stat")
    assert not left.exists() or left.read_text().rpartition(")")[2].split()[0] == "Z", "init has not taken it yet"
    made = trial.record(done.returncode, clean_environment)
    assert (made["status"], made["ranks"][0]["stopped_by"]) == ("timeout", "time limit")


def test_a_command_starts_without_the_probe_if_it_cannot_be_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], zipapp: Path
) -> None:
    words = ["bash", "-c", "echo [$PYTHONPATH]"]
    (tmp_path / "broken.pyz").write_bytes(b"no zip file")
    process = command.start(
        words, str(tmp_path), str(tmp_path / "one"), {"PYTHONPATH": "/own"}, str(tmp_path / "broken.pyz")
    )
    assert process.communicate()[0] == b"[/own]\n"
    assert "hpcbench: warning: hpcbench_probe cannot be added to PYTHONPATH: " in capsys.readouterr().err
    process = command.start(words, str(tmp_path), str(tmp_path / "two"), {}, str(zipapp))
    assert process.communicate()[0].decode() == f"[{tmp_path}/two/hpcbench_probe.zip]\n"
