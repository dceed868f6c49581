"""The local launcher, through the real zipapp."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from hpcbench.node.launch import local_launcher
from hpcbench.node.launch.local_launcher import run_on
from hpcbench.node.launch.ranks import Ranks, from_environment

pytestmark = pytest.mark.integration

CPUS = sorted(os.sched_getaffinity(0))
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs; not run: two tasks bound to CPUs of their own")
SAY = """
import json, os, sys
names = ("HPCBENCH_RANK", "HPCBENCH_RANKS", "HPCBENCH_LAUNCHER", "HPCBENCH_CPUS")
said = {name: os.environ.get(name) for name in names}
with open(os.path.join(sys.argv[1], said["HPCBENCH_RANK"]), "w") as file:
    json.dump(said, file)
"""


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


@pytest.fixture
def said(tmp_path: Path, make_folder: Callable[..., Any], clean_environment: dict[str, str]) -> Callable[..., Any]:
    """What each task of a launch was told."""

    def start(tasks: int, cpus_per_task: int) -> list[dict[str, str]]:
        out = tmp_path / "said"
        out.mkdir()
        words = make_folder().spawn_words(tasks, cpus_per_task, python(SAY, str(out)))
        done = subprocess.run(words, env=clean_environment, timeout=60, check=False)
        assert done.returncode == 0
        return [json.loads((out / str(rank)).read_text()) for rank in range(tasks)]

    return start


def test_tasks_are_numbered_and_know_how_many_they_are(said: Callable[..., Any]) -> None:
    found = said(3, 1)
    assert [task["HPCBENCH_RANK"] for task in found] == ["0", "1", "2"]
    assert {task["HPCBENCH_RANKS"] for task in found} == {"3"}
    assert len({task["HPCBENCH_LAUNCHER"] for task in found}) == 1


def test_launchers_of_the_same_number_have_tokens_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in two containers on a node: each may number its processes from 1."""
    monkeypatch.setattr(os, "getpid", lambda: 2)

    def ranks_of(file: Path) -> Ranks:
        def say() -> int:
            file.write_text(os.environ["HPCBENCH_LAUNCHER"])
            return 0

        monkeypatch.setattr(local_launcher, "_launched", 0)
        assert run_on([()], say, lambda end: nullcontext()) == 0
        launcher = file.read_text()
        return from_environment({"HPCBENCH_RANK": "0", "HPCBENCH_RANKS": "1", "HPCBENCH_LAUNCHER": launcher})

    one, other = ranks_of(tmp_path / "one"), ranks_of(tmp_path / "other")
    assert one.meeting == other.meeting == 2
    assert one.token != other.token


@pytest.mark.parametrize(
    ("tasks", "each"), [(1, 1), pytest.param(1, 2, marks=two_cpus), pytest.param(2, 1, marks=two_cpus)]
)
def test_each_task_gets_as_many_cpus_as_it_asks_for_and_shares_none(
    said: Callable[..., Any], tasks: int, each: int
) -> None:
    given = [[int(cpu) for cpu in task["HPCBENCH_CPUS"].split(",")] for task in said(tasks, each)]
    assert [len(cpus) for cpus in given] == [each] * tasks
    flat = [cpu for cpus in given for cpu in cpus]
    assert len(set(flat)) == len(flat)
    assert set(flat) <= set(CPUS)


def test_more_cpus_than_there_are_are_not_handed_out_twice(said: Callable[..., Any]) -> None:
    assert {task["HPCBENCH_CPUS"] for task in said(2, len(CPUS))} == {None}


@two_cpus
def test_a_rank_is_bound_to_the_cpus_that_it_was_given(
    make_folder: Callable[..., Any], fake_torch: Callable[[str], dict[str, str]]
) -> None:
    folder = make_folder(strategy="ddp", tasks_per_node=2)
    environment = fake_torch("import os\nraise RuntimeError(','.join(map(str, sorted(os.sched_getaffinity(0)))))\n")
    words = folder.spawn_words(2, 1, folder.words("rank"))
    subprocess.run(words, env=environment, capture_output=True, timeout=60, check=False)
    left = [json.loads(path.read_text()) for path in sorted(folder.scratch.glob("rank-*.json"))]
    told = {rank["rank"]: rank["facts"]["error"]["message"] for rank in left if rank["facts"]}
    assert told, "at least one rank came so far before the launcher ended the other"
    assert set(told.values()) <= {str(cpu) for cpu in CPUS[:2]}
    assert all(told[rank] == str(CPUS[rank]) for rank in told)


@pytest.mark.parametrize("asked", [{"tasks_per_node": 64}, {"nodes": 2}])
def test_a_case_that_this_machine_is_too_small_for_is_unsupported(
    make_folder: Callable[..., Any], clean_environment: dict[str, str], asked: dict[str, int]
) -> None:
    folder = make_folder(strategy="ddp", cpus_per_task=len(CPUS), **asked)
    tasks = asked.get("nodes", 1) * asked.get("tasks_per_node", 1)
    environment = {**clean_environment, "HPCBENCH_RANK": "0", "HPCBENCH_RANKS": str(tasks), "HPCBENCH_LAUNCHER": "1"}
    assert folder.rank(environment).returncode == 1, "or the other ranks would wait for this one"
    record = folder.record(1, clean_environment)
    assert record["status"] == "unsupported"
    assert "machine" in record["error"]["message"]


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_when_one_task_fails_the_others_are_ended_and_its_status_is_returned(
    make_folder: Callable[..., Any], clean_environment: dict[str, str], failing: int
) -> None:
    code = f"import os, sys, time\nif os.environ['HPCBENCH_RANK'] == '{failing}': sys.exit(7)\ntime.sleep(300)\n"
    words = make_folder().spawn_words(3, 1, python(code))
    assert subprocess.run(words, env=clean_environment, timeout=60, check=False).returncode == 7


def test_a_task_that_ignores_its_end_is_killed(
    tmp_path: Path, make_folder: Callable[..., Any], clean_environment: dict[str, str]
) -> None:
    code = f"""
import os, pathlib, signal, sys, time
ready = pathlib.Path({str(tmp_path)!r}, "ready")
if os.environ["HPCBENCH_RANK"] == "0":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ready.write_text("")
    time.sleep(300)
while not ready.exists():
    time.sleep(0.02)
sys.exit(3)
"""
    words = make_folder().spawn_words(2, 1, python(code))
    assert subprocess.run(words, env=clean_environment, timeout=60, check=False).returncode == 3


def test_a_task_that_dies_of_a_signal_gives_the_status_of_a_shell(
    make_folder: Callable[..., Any], clean_environment: dict[str, str]
) -> None:
    words = make_folder().spawn_words(1, 1, python("import os\nos.kill(os.getpid(), 11)\n"))
    assert subprocess.run(words, env=clean_environment, timeout=60, check=False).returncode == 128 + signal.SIGSEGV


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_launcher_that_is_told_to_stop_ends_its_ranks_which_leave_their_files(
    tmp_path: Path,
    make_folder: Callable[..., Any],
    fake_torch: Callable[[str], dict[str, str]],
    number: signal.Signals,
) -> None:
    folder = make_folder(strategy="ddp", tasks_per_node=2)
    code = f"""
import os, pathlib, time
pathlib.Path({str(tmp_path)!r}, "ready-" + os.environ["HPCBENCH_RANK"]).write_text("")
time.sleep(60)
"""
    environment = fake_torch(code)
    words = folder.spawn_words(2, 1, folder.words("rank"))
    process = subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL)
    ready = [tmp_path / "ready-0", tmp_path / "ready-1"]
    if len(CPUS) < 2:
        process.kill()
        pytest.skip("needs two CPUs; not run: stopping a launch of two tasks")
    deadline = time.monotonic() + 20
    while not all(path.exists() for path in ready):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(number)
    status = process.wait(timeout=20)
    assert status == 128 + signal.SIGTERM
    assert [folder.rank_file(rank)["stopped_by"] for rank in (0, 1)] == ["SIGTERM", "SIGTERM"]
    assert folder.record(status, environment, stopped="TERM", elapsed=3)["status"] == "cancelled"


def test_a_stop_that_comes_while_tasks_are_started_ends_them_all(
    tmp_path: Path, make_folder: Callable[..., Any], clean_environment: dict[str, str]
) -> None:
    """The first task sends it, long before the last one is started."""
    script = f"echo $$ > {tmp_path}/$HPCBENCH_RANK; [ $HPCBENCH_RANK = 0 ] && kill -TERM $PPID; exec sleep 60"
    words = make_folder().spawn_words(200, 1, ["sh", "-c", script])
    assert subprocess.run(words, env=clean_environment, timeout=30, check=False).returncode == 128 + signal.SIGTERM
    started = [int(path.read_text()) for path in tmp_path.iterdir() if path.name.isdigit() and path.read_text()]
    assert started
    assert not [task for task in started if Path(f"/proc/{task}").exists()]


def test_the_cause_is_the_rank_that_failed_and_not_those_that_were_ended(
    make_folder: Callable[..., Any], fake_torch: Callable[[str], dict[str, str]]
) -> None:
    if len(CPUS) < 2:
        pytest.skip("needs two CPUs; not run: the cause of a failure among two ranks")
    folder = make_folder(strategy="ddp", tasks_per_node=2)
    environment = fake_torch(
        "import os, signal, time\n"
        "if os.environ['HPCBENCH_RANK'] == '1':\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
        "time.sleep(8)\n"
    )
    words = folder.spawn_words(2, 1, folder.words("rank"))
    done = subprocess.run(words, env=environment, capture_output=True, timeout=60, check=False)
    record = folder.record(done.returncode, environment)
    assert record["status"] == "failed"
    assert (record["error"]["rank"], record["error"]["signal"]) == (1, "SIGSEGV")
