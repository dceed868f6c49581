"""One rank and its supervisor, through the real zipapp; what stands in for the framework is a few lines of Python."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.node.launch import supervisor

FakeTorch = Callable[[str], dict[str, str]]
KILL = "import os, signal\nos.kill(os.getpid(), signal.{})\n"
LEAVE_A_CHILD = """
import os, time
if os.fork() == 0:
    os.close(1)
    os.close(2)
    time.sleep(8)
    os._exit(0)
raise ImportError("this build is broken")
"""


@pytest.mark.parametrize(
    ("code", "exit_code", "died_of"),
    [
        ("raise ImportError('this build is broken')", 1, None),
        ("import sys; sys.exit(7)", 7, None),
        ("import os; os._exit(9)", 9, None),
        (KILL.format("SIGSEGV"), None, "SIGSEGV"),
        (KILL.format("SIGKILL"), None, "SIGKILL"),
        (KILL.format("SIGABRT"), None, "SIGABRT"),
    ],
)
def test_a_worker_that_dies_leaves_a_rank_file_and_an_exit_status(
    make_folder: Callable[..., Any], fake_torch: FakeTorch, code: str, exit_code: int | None, died_of: str | None
) -> None:
    folder = make_folder()
    done = folder.rank(fake_torch(code))
    left = folder.rank_file()
    assert (left["exit_code"], left["signal"], left["stopped_by"]) == (exit_code, died_of, None)
    assert done.returncode == (exit_code if died_of is None else 128 + signal.Signals[died_of])
    assert left["started_at"] < left["ended_at"]
    assert left["node"]["hostname"]
    assert {"governor", "turbo"} <= left["node"].keys()
    assert not list(folder.scratch.glob("*.part"))


def test_a_worker_is_marked_as_the_repetitions_own(make_folder: Callable[..., Any], fake_torch: FakeTorch) -> None:
    folder = make_folder()
    folder.rank(fake_torch("import os\nraise ImportError('the mark is ' + os.environ['HPCBENCH_MARK'])\n"))
    assert f"the mark is {folder.scratch.name}" in folder.rank_file()["facts"]["error"]["message"]


def test_a_worker_killed_by_a_real_time_signal_leaves_a_rank_file_too(
    make_folder: Callable[..., Any], fake_torch: FakeTorch
) -> None:
    folder = make_folder()
    folder.rank(fake_torch("import os, signal\nos.kill(os.getpid(), signal.SIGRTMIN + 6)\n"))
    assert folder.rank_file()["signal"] is not None


@pytest.mark.parametrize(
    ("code", "status", "message"),
    [
        ("raise ImportError('this build is broken')", "failed", "this build is broken"),
        ("raise RuntimeError('several\\nlines')", "failed", "several"),
        ("raise MemoryError('no more')", "out_of_memory", "no more"),
        ("raise ModuleNotFoundError(\"No module named 'torch'\")", "failed", f"'torch' in {sys.executable}"),
        ("import sys; sys.exit(7)", "failed", "exited with 7"),
        (KILL.format("SIGSEGV"), "failed", "SIGSEGV"),
        (KILL.format("SIGKILL"), "failed", "SIGKILL"),
    ],
)
def test_the_record_tells_how_a_worker_died(
    make_folder: Callable[..., Any], fake_torch: FakeTorch, code: str, status: str, message: str
) -> None:
    folder = make_folder()
    environment = fake_torch(f"import sys\nprint('the last word', file=sys.stderr)\n{code}\n")
    exit_status = folder.rank(environment).returncode
    record = folder.record(exit_status, environment)
    assert record["status"] == status
    assert message in record["error"]["message"]
    assert record["error"]["rank"] == 0
    assert record["error"]["last_lines"]
    assert record["measurements"] is None
    assert record["ranks"][0]["exit_code"] == record["error"]["exit_code"]


def test_the_last_lines_of_a_killed_worker_are_kept_and_passed_on(
    make_folder: Callable[..., Any], fake_torch: FakeTorch
) -> None:
    folder = make_folder()
    chatter = "import sys\nfor n in range(5000): print('line', n, 'x' * 200, file=sys.stderr)\nsys.stderr.flush()\n"
    done = folder.rank(fake_torch(chatter + KILL.format("SIGSEGV")))
    assert done.stderr.count("line ") == 5000
    last = folder.rank_file()["last_lines"]
    assert last[-1].startswith("line 4999 x")
    assert len(last) <= 30


def test_a_secret_that_a_worker_prints_is_not_in_the_record(
    make_folder: Callable[..., Any], fake_torch: FakeTorch
) -> None:
    folder = make_folder()
    environment = fake_torch("import os\nraise RuntimeError('no entry with ' + os.environ['MY_API_TOKEN'])\n")
    environment["MY_API_TOKEN"] = "hunter2-hunter2"  # noqa: S105 - not a real one
    folder.record(folder.rank(environment).returncode, environment)
    text = folder.records.read_text()
    assert "hunter2" not in text
    assert "no entry with [redacted]" in text


def test_a_worker_that_leaves_a_child_behind_still_tells_its_error(
    make_folder: Callable[..., Any], fake_torch: FakeTorch
) -> None:
    # it keeps open: the result that was written whole is thrown away (read1 would have it).
    folder = make_folder()
    folder.rank(fake_torch(LEAVE_A_CHILD))
    facts = folder.rank_file()["facts"]
    assert facts is not None
    assert facts["error"]["message"] == "this build is broken"


def test_a_rank_has_ended_when_its_worker_has_not_when_the_pipes_are_empty(
    tmp_path: Path, make_folder: Callable[..., Any], fake_torch: FakeTorch
) -> None:
    folder = make_folder()
    stamp = f"import pathlib, time\npathlib.Path({str(tmp_path)!r}, 'died').write_text(str(time.time()))\n"
    folder.rank(fake_torch(stamp + LEAVE_A_CHILD))
    assert folder.rank_file()["ended_at"] - float((tmp_path / "died").read_text()) < supervisor.DRAIN_S


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full; not run: a log on a full disk")
def test_a_worker_does_not_hang_where_its_last_words_cannot_be_passed_on(
    make_folder: Callable[..., Any], fake_torch: FakeTorch
) -> None:
    folder = make_folder()
    chatter = "import sys\nfor n in range(2000): print('line', n, 'x' * 200, file=sys.stderr)\n"
    environment = fake_torch(chatter + "raise ImportError('broken')\n")
    with Path("/dev/full").open("w") as full:
        process = subprocess.Popen(folder.words("rank"), env=environment, stderr=full)
    try:
        process.wait(timeout=8)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait(timeout=20)
    assert folder.rank_file()["stopped_by"] is None
    assert folder.rank_file()["facts"]["error"]["message"] == "broken"


def test_threads_are_set_for_openmp_before_the_framework_is_imported(
    make_folder: Callable[..., Any], fake_torch: FakeTorch
) -> None:
    folder = make_folder(intra_op_threads=3, oversubscribe=True)
    environment = fake_torch("import os\nraise RuntimeError('OMP_NUM_THREADS=%s' % os.environ['OMP_NUM_THREADS'])\n")
    set_up = {"HPCBENCH_SET_UP": "_\nKMP_BLOCKTIME", "KMP_BLOCKTIME": "0"}
    folder.rank({**environment, "OMP_NUM_THREADS": "17", "MKL_NUM_THREADS": "17", **set_up})
    assert folder.rank_file()["facts"]["error"]["message"] == "OMP_NUM_THREADS=3"
    assert folder.rank_file()["outside"] == ["MKL_NUM_THREADS"], "neither of the case nor of modules and shell lines"


def test_the_users_own_openmp_setting_stands_where_the_case_asks_for_none(
    make_folder: Callable[..., Any], fake_torch: FakeTorch
) -> None:
    folder = make_folder()
    environment = fake_torch("import os\nraise RuntimeError('OMP_NUM_THREADS=%s' % os.environ['OMP_NUM_THREADS'])\n")
    folder.rank({**environment, "OMP_NUM_THREADS": "17"})
    assert folder.rank_file()["facts"]["error"]["message"] == "OMP_NUM_THREADS=17"


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def sleeper(tmp_path: Path, prologue: str = "") -> str:
    """A framework that says its process id, then never comes back."""
    ready = tmp_path / "ready"
    return f"""
import os, signal, time
{prologue}
with open({str(ready)!r} + ".part", "w") as file:
    file.write(str(os.getpid()))
os.replace({str(ready)!r} + ".part", {str(ready)!r})
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    ("prologue", "died_of"), [("", "SIGTERM"), ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", "SIGKILL")]
)
def test_a_supervisor_that_is_told_to_stop_ends_its_worker_and_says_so(
    tmp_path: Path,
    make_folder: Callable[..., Any],
    fake_torch: FakeTorch,
    number: signal.Signals,
    prologue: str,
    died_of: str,
) -> None:
    """A worker that does not heed SIGTERM is killed after a short grace time."""
    folder = make_folder()
    environment = fake_torch(sleeper(tmp_path, prologue))
    process = subprocess.Popen(folder.words("rank"), env=environment, stderr=subprocess.DEVNULL)
    wait_for(tmp_path / "ready")
    worker = int((tmp_path / "ready").read_text())
    process.send_signal(number)
    status = process.wait(timeout=20)
    left = folder.rank_file()
    assert left["stopped_by"] == number.name
    assert left["signal"] == died_of
    assert status == 128 + signal.Signals[died_of]
    assert not alive(worker)
    record = folder.record(status, environment, stopped="TERM", elapsed=5)
    assert record["status"] == "cancelled"


def test_a_stop_at_the_wall_time_becomes_a_timeout(
    tmp_path: Path, make_folder: Callable[..., Any], fake_torch: FakeTorch
) -> None:
    folder = make_folder()
    environment = fake_torch(sleeper(tmp_path))
    process = subprocess.Popen(folder.words("rank"), env=environment, stderr=subprocess.DEVNULL)
    wait_for(tmp_path / "ready")
    process.send_signal(signal.SIGTERM)
    record = folder.record(process.wait(timeout=20), environment, stopped="TERM", elapsed=60)
    assert record["status"] == "timeout"
    assert record["ranks"][0]["stopped_by"] == "SIGTERM"


@pytest.mark.parametrize(
    ("prologue", "died_of"), [("", "SIGTERM"), ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", "SIGKILL")]
)
def test_a_worker_that_hangs_is_ended_at_its_time_limit_and_has_timed_out(
    tmp_path: Path, make_folder: Callable[..., Any], fake_torch: FakeTorch, prologue: str, died_of: str
) -> None:
    """Nobody told its script to end: the time of the job is not over."""
    folder = make_folder()
    environment = fake_torch(sleeper(tmp_path, prologue))
    done = folder.rank(environment, "--limit", "4")
    left = folder.rank_file()
    assert (left["stopped_by"], left["signal"]) == ("time limit", died_of)
    assert not alive(int((tmp_path / "ready").read_text()))
    record = folder.record(done.returncode, environment, elapsed=4)
    assert (record["status"], record["error"]["message"]) == ("timeout", "stopped after 4 s: the time limit is 60 s")


def test_a_time_limit_that_is_over_before_the_worker_begins_ends_it_at_once(
    tmp_path: Path, make_folder: Callable[..., Any], fake_torch: FakeTorch
) -> None:
    folder = make_folder()
    environment = fake_torch(sleeper(tmp_path))
    for limit in ("0", "-5"):  # the node took all of it to become quiet
        folder.rank(environment, "--limit", limit)
        assert folder.rank_file()["stopped_by"] == "time limit"


def test_a_worker_that_ends_in_time_is_not_stopped(make_folder: Callable[..., Any], fake_torch: FakeTorch) -> None:
    folder = make_folder()
    folder.rank(fake_torch("raise ImportError('broken')"), "--limit", "50")
    left = folder.rank_file()
    assert (left["stopped_by"], left["facts"]["error"]["message"]) == (None, "broken")


def test_a_command_does_not_outlive_a_supervisor_that_cannot_copy_its_output(
    make_folder: Callable[..., Any], tmp_path: Path, clean_environment: dict[str, str]
) -> None:
    line = f"echo $$ > {tmp_path}/pid.part; mv {tmp_path}/pid.part {tmp_path}/pid; exec sleep 60"
    folder = make_folder(framework="command", model=None, command=line)
    (Path(folder.scratch) / "rank-0.err").mkdir(parents=True)
    done = subprocess.run(folder.words("rank"), env=clean_environment, capture_output=True, timeout=60, check=False)
    assert done.returncode != 0
    assert b"IsADirectoryError" in done.stderr
    if (tmp_path / "pid").exists():  # it may have been ended before it began
        assert not alive(int((tmp_path / "pid").read_text()))
