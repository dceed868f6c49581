"""How a job runs its pack, and what makes it give up: its script in real bash, real runs; srun is a fake."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from hpcbench.node.job import driver
from hpcbench.node.job.attempt import NextStep
from hpcbench.store import packs
from hpcbench.store.journal import Batch, Journal
from tests.node.job.driven import Driven

pytestmark = pytest.mark.integration

Drive = Callable[..., Driven]
SEVEN = "matrix: {seed: {range: [1, 7]}}\nmeasure: {repetitions: 1, retries: 0}\n"
SECOND = "echo >> tries; [ $(wc -l < tries) = 2 ]"  # whether it is the second run; their order is drawn by lot
THREE_EACH = "slurm: {time: '00:10:00', pack_walltime: '00:30:00'}\n"
SIDE_BY_SIDE = "slurm: {time: '00:10:00', pack_walltime: '00:20:00', pack: parallel, partition: a}\n"
FOUR_CPUS = "{}\npartitions: {a: {cpus_per_node: 4}}"


def test_a_pack_runs_its_elements_one_after_another_beside_one_monitor(drive: Drive) -> None:
    packed = drive("true", SEVEN + THREE_EACH)
    done = packed.run()
    assert done.returncode == 0, done.stdout
    assert packed.ran == [0, 1, 2]
    assert [record["status"] for record in packed.records] == 3 * ["completed"]
    assert [" rank " in line for line in packed.sruns] == 3 * [True], "one node is watched from the job's own process"
    assert all(record["monitors"] for record in packed.records), "each run has a timeline of its own"


@pytest.mark.parametrize(("index", "elements"), [("1", [3, 4, 5]), ("2", [6])])
def test_an_index_of_the_array_runs_the_pack_in_its_line(drive: Drive, index: str, elements: list[int]) -> None:
    packed = drive("true", SEVEN + THREE_EACH)
    packed.run(SLURM_ARRAY_TASK_ID=index)
    assert packed.ran == elements
    assert (packed.sweep.paths.results / "records" / "job-001" / f"42_{index}.jsonl").exists()
    assert {record["batch"] for record in packed.records} == {"job-001"}


def test_a_batch_that_is_named_has_packs_logs_and_records_of_its_own(drive: Drive) -> None:
    packed = drive("true", SEVEN + THREE_EACH)
    packs.write(packed.sweep.paths.packs("job-001.beef"), [(6, 2)])
    packed.run("job-001.beef")
    assert packed.ran == [6, 2]
    assert (packed.sweep.paths.results / "records" / "job-001.beef" / "42_0.jsonl").exists()


def test_a_run_is_started_by_one_line_in_the_log_that_can_be_pasted(drive: Drive) -> None:
    packed = drive("echo it ran", SEVEN + THREE_EACH)
    log = packed.run(SLURM_ARRAY_TASK_ID="2").stdout
    (line,) = re.findall(r"(?m)^hpcbench: (srun .* rank .*)$", log)
    done = subprocess.run(line, shell=True, env=packed.environment(), capture_output=True, text=True, check=False)  # noqa: S602
    assert (done.returncode, done.stdout) == (0, "it ran\n")
    planned = packed.sweep.run_command("job-001", "job-001", 6, "43", "0", 1)
    assert shlex.split(line)[:-1] == planned[:-1], "`hpcbench show` prints it, too, for a first attempt"
    assert int(planned[-1]) - int(shlex.split(line)[-1]) <= 1


def test_a_failure_of_one_does_not_keep_the_others_from_running(drive: Drive) -> None:
    packed = drive(f"! {{ {SECOND}; }}", SEVEN + THREE_EACH)
    assert packed.run().returncode == 1
    assert [record["status"] for record in packed.records] == ["completed", "failed", "completed"]


def test_a_job_that_a_local_run_submitted_reads_its_own_log(drive: Drive) -> None:
    packed = drive("true", SEVEN + THREE_EACH)
    packed.srun.write_text("#!/bin/bash\necho srun: a mistake\nexit 1\n")
    packed.run(SLURM_ARRAY_TASK_ID="2", HPCBENCH_LOG="/log/of/the/local/run")
    assert packed.records[0]["error"]["last_lines"][-1] == "srun: a mistake"


def test_a_script_for_slurm_runs_nothing_outside_a_job(drive: Drive) -> None:
    packed = drive("true", SEVEN + THREE_EACH)
    done = packed.run(SLURM_JOB_ID="")
    assert done.returncode == 1
    assert "this is not a Slurm job: submit the script with sbatch" in done.stdout
    assert not packed.records
    assert not packed.sruns


def test_one_that_is_run_again_comes_before_the_next(drive: Drive) -> None:
    packed = drive("echo >> tries; [ $(wc -l < tries) -gt 2 ]", SEVEN + THREE_EACH + "retry: {max: 3, on: [failed]}\n")
    assert packed.run().returncode == 0
    told = [(record["element"], record["attempt"], record["status"]) for record in packed.records]
    assert told == [(0, 1, "failed"), (0, 2, "failed"), (0, 3, "completed"), (1, 1, "completed"), (2, 1, "completed")]


def test_a_job_that_is_told_to_end_records_the_run_and_begins_no_other(drive: Drive) -> None:
    packed = drive(f"{{ ! {{ {SECOND}; }}; }} || {{ kill $(cat driver); sleep 0.2; exit 1; }}", SEVEN + THREE_EACH)
    text = packed.script.read_text().replace('exec "$python"', 'echo $$ > driver; exec "$python"')
    packed.script.write_text(text)
    packed.run()
    assert packed.ran == [0, 1]
    assert [record["status"] for record in packed.records] == ["completed", "failed"]


def test_each_of_a_pack_has_the_whole_wall_time_of_a_run(drive: Drive) -> None:
    packed = drive("sleep 2", SEVEN + THREE_EACH)
    first, _, last = map(int, re.findall(r"--limit (\d+)", packed.run().stdout))
    assert last > first - 3, "the runs before took four seconds"


def test_each_of_a_pack_is_judged_by_its_own_part_of_the_log(drive: Drive) -> None:
    """What Slurm said of one is not taken for the reason of the next."""
    said = "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.0. Some of the step tasks have been OOM Killed."
    packed = drive(f"if {SECOND}; then echo '{said}' >&2; fi; kill -9 $$", SEVEN + THREE_EACH)
    packed.run()
    assert [record["status"] for record in packed.records] == ["failed", "out_of_memory", "failed"]


def test_a_job_that_slurm_started_again_runs_what_is_left(drive: Drive) -> None:
    packed = drive("true", SEVEN + THREE_EACH)
    packed.run()
    records = packed.sweep.paths.results / "records" / "job-001" / "42_0.jsonl"
    records.write_text(records.read_text().splitlines(keepends=True)[0])
    cut_off = packed.sweep.paths.running("job-001") / "1-43-0-1"
    cut_off.mkdir(parents=True)
    done = packed.run(SLURM_RESTART_COUNT="1")
    assert done.returncode == 0, done.stdout
    assert "hpcbench: Slurm has requeued this job" in done.stdout
    told = [(record["element"], record["status"], record["slurm"].get("restart_count")) for record in packed.records]
    assert told == [(0, "completed", None), (1, "node_failure", "1"), (1, "completed", "1"), (2, "completed", "1")]
    assert (packed.sweep.paths.results / "records" / "job-001.1" / "42_0.jsonl").exists()
    assert not cut_off.exists()


def test_attempts_before_a_restart_count_and_interference_is_measured_again_after_it(drive: Drive) -> None:
    options = SEVEN.replace("retries: 0", "retries: 1") + THREE_EACH + "retry: {max: 1, on: [failed]}\n"
    packed = drive("false", options)
    packed.run()
    records = packed.sweep.paths.results / "records" / "job-001" / "42_0.jsonl"
    failed = packed.records[0]
    with_interference = {**failed, "element": 1, "status": "completed", "interference": {"verdict": "interference"}}
    ended = {**failed, "element": 2, "status": "completed", "interference": {"verdict": "clean"}}
    records.write_text("".join(json.dumps(record) + "\n" for record in (failed, with_interference, ended)))
    packed.run(SLURM_RESTART_COUNT="1")
    again = [record["element"] for record in packed.records if record["slurm"].get("restart_count") == "1"]
    assert again == [0, 1, 1], "both failures of 1 count, but not its interference"


def test_a_job_that_slurm_started_again_with_nothing_left_to_run_has_succeeded(drive: Drive) -> None:
    packed = drive("true", SEVEN + THREE_EACH)
    packed.run(SLURM_ARRAY_TASK_ID="2")
    before = packed.records
    assert packed.run(SLURM_ARRAY_TASK_ID="2", SLURM_RESTART_COUNT="1").returncode == 0
    assert packed.records == before


def test_what_was_done_before_a_restart_must_be_readable(drive: Drive) -> None:
    packed = drive("true", SEVEN + THREE_EACH)
    (packed.sweep.paths.results / "records" / "job-001" / "42_0.jsonl").mkdir(parents=True)
    done = packed.run(SLURM_RESTART_COUNT="1")
    assert (done.returncode, packed.sruns) == (1, [])
    assert "gave up: the records from before this restart cannot be read" in done.stdout


def test_a_batch_that_is_thought_lost_runs_nothing_when_it_comes_up_all_the_same(drive: Drive) -> None:
    packed = drive("true", SEVEN + THREE_EACH)
    paths = packed.sweep.paths
    journal = Journal(paths)
    for name in ("job-001.dead", "job-001.beef"):
        packs.write(paths.packs(name), [(0,)])
        journal.submitting(Batch(paths, name))
    journal.rejected(journal.batches[0], 'hpcbench died before "Slurm" had it')
    journal.submitted(journal.batches[1], "42")
    paths.journal.write_text('{"event": "rejected", "bat\n' + paths.journal.read_text())  # a line that was cut off
    done = packed.run("job-001.dead")
    reason = "hpcbench replaced this job: another job may run the same cases"
    assert (done.returncode, done.stdout) == (1, f"hpcbench: gave up: {reason}\n")
    assert packed.run("job-001.beef").returncode == 0
    assert packed.ran == [0]


def test_an_element_that_resume_has_given_up_runs_nothing_when_it_starts_later(drive: Drive) -> None:
    packed = drive("true", SEVEN + THREE_EACH)
    paths = packed.sweep.paths
    journal = Journal(paths)
    packs.write(paths.packs("job-001.dead"), [(0,), (1,), (2,)])
    journal.submitting(Batch(paths, "job-001.dead"))
    journal.given_up("job-001.dead", [0, 2])
    for index, status in (("0", 1), ("1", 0), ("2", 1)):
        assert packed.run("job-001.dead", SLURM_ARRAY_TASK_ID=index).returncode == status
    assert packed.ran == [1]


@pytest.mark.parametrize("index", ["3", "999"])
def test_an_index_without_a_pack_is_told(drive: Drive, index: str) -> None:
    done = drive("true", SEVEN + THREE_EACH).run(SLURM_ARRAY_TASK_ID=index)
    reason = f"packs/job-001 has no valid line for array index {index}"
    assert (done.returncode, done.stdout) == (1, f"hpcbench: gave up: {reason}\n")


def test_a_batch_without_packs_is_told(drive: Drive) -> None:
    done = drive("true", SEVEN + THREE_EACH).run("job-001.gone")
    assert done.returncode == 1
    assert "packs/job-001.gone has no valid line for array index 0" in done.stdout


def test_a_node_that_does_not_see_the_sweep_says_so_at_once(drive: Drive) -> None:
    packed = drive("true")
    script = packed.script.read_text()
    jobs = packed.sweep.paths.jobs
    shutil.move(jobs, jobs.with_name("elsewhere"))
    done = subprocess.run(["bash", "-c", script, "script"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(rf"hpcbench: gave up: \S+ does not see {jobs}, where this script was written\n", done.stderr)


def test_a_node_that_cannot_write_the_results_says_so_at_once(drive: Drive) -> None:
    packed = drive("true")
    results = packed.sweep.paths.results
    shutil.rmtree(results)
    results.write_text("no folder")
    done = packed.run()
    assert done.returncode == 1
    assert re.search(rf"gave up: \S+ cannot write to {results}\n", done.stdout)


def test_a_python_that_is_missing_on_the_node_is_named(drive: Drive) -> None:
    packed = drive("true")
    packed.script.write_text(re.sub(r"(?m)^python=.*$", "python=/no/such/python", packed.script.read_text()))
    done = packed.run()
    assert done.returncode == 1
    assert re.fullmatch(r"hpcbench: gave up: \S+ has no Python at /no/such/python\n", done.stdout)


def test_a_pack_asks_for_the_time_of_all_that_it_runs(drive: Drive) -> None:
    packed = drive("true", SEVEN + THREE_EACH)
    assert "#SBATCH --array=0-2\n" in packed.script.read_text()
    assert "#SBATCH --time=0:30:00\n" in packed.script.read_text()


def test_side_by_side_all_of_a_pack_run_and_each_is_recorded(drive: Drive) -> None:
    packed = drive("true", SEVEN + SIDE_BY_SIDE, site=FOUR_CPUS)
    done = packed.run(SLURM_MEM_PER_NODE="4000")
    assert done.returncode == 0, done.stdout
    assert sorted(packed.ran) == list(range(7))
    assert done.stdout.count(" completed\n") == 7, "what each has printed comes into the log"
    tasks = [line for line in packed.sruns if " rank " in line]
    assert len(tasks) == 7
    assert all("--exact" in line and "--mem=1000" in line and "--gres=none" in line for line in tasks)
    assert not list(packed.sweep.paths.running("job-001").glob("*.log"))


def test_side_by_side_no_more_run_at_once_than_fit(drive: Drive) -> None:
    count = "mkdir -p now; touch now/{{ seed }}; ls now | wc -l >> most; sleep 0.5; rm now/{{ seed }}"
    packed = drive(count, SEVEN + SIDE_BY_SIDE, site=FOUR_CPUS)
    packed.run()
    most = packed.sweep.paths.jobs.parents[1] / "most"
    assert max(map(int, most.read_text().split())) <= 4
    assert sorted(packed.ran) == list(range(7))


@pytest.mark.parametrize(
    ("version", "monitors", "words"),
    [
        ("slurm 22.05.0", 1, ""),
        ("slurm-wlm 21.08.5", 0, "slurm-wlm 21.08.5"),
        ("", 0, "no Slurm"),
    ],
)
def test_a_step_beside_the_tasks_is_started_only_where_slurm_lets_steps_share_all(
    drive: Drive, version: str, monitors: int, words: str
) -> None:
    """Else one would wait for the other for ever, and only the node of the script is watched."""
    packed = drive("true", "  nodes: 2\n  cpus_per_task: 1\n")
    log = packed.run(SLURM_IS=version, NODES="2").stdout
    assert sum("--overlap" in line for line in packed.sruns) == monitors
    if monitors:
        beside = "--nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=1 --cpu-bind=none --mpi=none "
        assert packed.sruns[0].startswith(f"srun --overlap --mem=0 {beside}")
        assert "monitors responded" not in log
    else:
        assert f"hpcbench: {words}: only " in log
        assert "is monitored; monitoring every node requires Slurm 22.05 or newer" in log


def test_where_no_file_can_be_made_concurrent_runs_print_into_the_log_of_the_job(drive: Drive) -> None:
    packed = drive("echo it ran", SEVEN + SIDE_BY_SIDE, site=FOUR_CPUS)
    for element in range(7):
        (packed.sweep.paths.running("job-001") / f"{element}-43.log" / "folder").mkdir(parents=True)
    done = packed.run()
    assert (done.returncode, done.stdout.count("it ran\n")) == (0, 7)
    assert sorted(packed.ran) == list(range(7))


def test_a_lane_that_gives_up_lets_the_others_finish_their_runs(drive: Drive) -> None:
    packed = drive("sleep 2", SEVEN + SIDE_BY_SIDE, site=FOUR_CPUS)
    running = packed.sweep.paths.running("job-001")
    running.mkdir(parents=True)
    (running / "1-43-0-1").write_text("in the place of a scratch folder")
    done = packed.run()
    assert done.returncode == 1
    assert "gave up: " in done.stdout
    assert "Traceback" not in done.stdout
    assert 0 in packed.ran, "it began before"
    assert 1 not in packed.ran
    assert all(record["status"] == "completed" for record in packed.records)


def test_an_element_that_the_job_does_not_have_is_said(drive: Drive) -> None:
    packed = drive("true", scheduler="local")
    words = [*packed.words()[:2], "99"]
    done = subprocess.run(words, env=packed.environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "hpcbench: gave up: job-001.jsonl has no element 99\n")


def test_two_scripts_of_this_machine_within_one_allocation_do_not_share_a_scratch_folder(drive: Drive) -> None:
    packed = drive("sleep 1", scheduler="local")
    environment = packed.environment(SLURM_JOB_ID="77")
    scripts = [
        subprocess.Popen(packed.words(), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(2)
    ]
    printed = [script.communicate(timeout=60)[0] for script in scripts]
    assert [script.returncode for script in scripts] == [0, 0], printed
    assert {record["status"] for record in packed.records} == {"completed"}, "they may disturb each other"


def test_a_script_of_this_machine_without_an_element_says_so(drive: Drive) -> None:
    packed = drive("true", scheduler="local")
    done = subprocess.run(packed.words()[:2], env=packed.environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "hpcbench: gave up: the element to run is missing\n")
    assert packed.records == []


def test_a_signal_ends_the_run_on_this_machine_and_its_record_says_so(drive: Drive) -> None:
    packed = drive("touch begun; sleep 60", scheduler="local")
    log = packed.sweep.paths.jobs / "log"
    begun = packed.sweep.paths.jobs.parents[1] / "begun"
    with log.open("wb") as output:
        process = subprocess.Popen(packed.words(), env=packed.environment(), stdout=output, stderr=output)
    while not begun.exists():
        assert process.poll() is None, log.read_text()
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(timeout=60) == 1
    (record,) = packed.records
    assert record["status"] == "cancelled"


class Served:
    """The driver of a local job, which takes elements through a socket."""

    def __init__(self, driven: Driven, folder: Path) -> None:
        self._folder = folder
        self.socket, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [*driven.words()[:2], "--serve", str(theirs.fileno())],
                env=driven.environment(),
                cwd=folder,
                pass_fds=(theirs.fileno(),),
            )

    def ask(self, element: int) -> Path:
        """Ask for an element; return its log."""
        log = self._folder / f"{element}.log"
        log.touch()
        self.socket.sendall(json.dumps({"element": element, "log": str(log)}).encode() + b"\n")
        return log

    def run(self, element: int) -> str:
        """Run an element to its end; return what it logged."""
        log = self.ask(element)
        assert [self.socket.recv(1) for _ in ("begun", "ended")] == 2 * [b"\n"]
        return log.read_text()


@pytest.fixture
def serve(drive: Drive, tmp_path: Path) -> Iterator[Callable[..., tuple[Driven, Served]]]:
    started: list[Served] = []

    def start(command: str) -> tuple[Driven, Served]:
        driven = drive(command, SEVEN, scheduler="local")
        started.append(Served(driven, tmp_path))
        return driven, started[-1]

    yield start
    for served in started:
        served.socket.close()
        served.process.wait(timeout=60)


Serve = Callable[..., tuple[Driven, Served]]


def test_one_driver_runs_what_it_is_asked_for_each_with_a_log_of_its_own(serve: Serve) -> None:
    driven, served = serve("echo this is $PPID {{ seed }}")
    logs = {element: served.run(element) for element in (2, 0, 1)}
    assert driven.ran == [2, 0, 1]
    assert [record["status"] for record in driven.records] == 3 * ["completed"]
    assert all(record["monitors"] for record in driven.records)
    for element, log in logs.items():
        assert re.findall(r" rank \S+ (\d+) ", log) == [str(element)]
        assert log.count("this is") == 1
    served.socket.close()
    assert served.process.wait(timeout=60) == 0


def test_a_run_that_describes_its_packages_starts_another_python(serve: Serve) -> None:
    driven, served = serve("tr '\\0' ' ' < /proc/$PPID/cmdline")
    (driven.sweep.paths.results / "environments" / "command.json").unlink()
    first, second = served.run(0), served.run(1)
    assert " rank " in first.splitlines()[1]
    assert " job " in second.splitlines()[1], "a fork of the driver"
    assert {record["status"] for record in driven.records} == {"completed"}
    assert (driven.sweep.paths.results / "environments" / "command.json").exists()


def test_a_program_gets_nothing_of_the_driver_but_its_output(serve: Serve) -> None:
    _, served = serve("readlink /proc/self/fd/0; ls /proc/$$/fd > fds; tr '\\n' ' ' < fds; grep SigBlk /proc/$$/status")
    for element in (0, 1):
        log = served.run(element)
        assert "/dev/null\n0 1 2 SigBlk:\t0000000000000000\n" in log


def test_what_a_run_used_is_its_own_and_not_that_of_earlier_ones(serve: Serve) -> None:
    driven, served = serve("python3 -c 'import sys; x = bytearray(10**8 if {{ seed }} == 1 else 1)'")
    for element in range(7):
        served.run(element)
    peaks = {record["parameters"]["seed"]: record["peak_memory_bytes"] for record in driven.records}
    assert peaks.pop(1) > 10**8
    assert max(peaks.values()) < 10**8


def test_an_idle_driver_that_is_told_to_end_does(serve: Serve) -> None:
    _, served = serve("true")
    served.run(0)
    served.process.terminate()
    assert served.process.wait(timeout=60) == 0
    assert served.socket.recv(100) == b""


def test_a_run_whose_hpcbench_has_died_is_recorded_and_none_follows(serve: Serve) -> None:
    driven, served = serve("touch begun; sleep 0.5")
    served.ask(0)
    begun = driven.sweep.paths.jobs.parents[1] / "begun"
    while not begun.exists():
        time.sleep(0.01)
    served.socket.close()
    assert served.process.wait(timeout=60) == 0
    assert [record["status"] for record in driven.records] == ["completed"]


def test_a_driver_that_is_told_to_end_records_the_run_that_it_was_asked_for(serve: Serve) -> None:
    driven, served = serve("touch begun; sleep 60")
    served.ask(0)
    begun = driven.sweep.paths.jobs.parents[1] / "begun"
    while not begun.exists():
        time.sleep(0.01)
    served.process.terminate()
    assert served.process.wait(timeout=60) == 1
    assert [record["status"] for record in driven.records] == ["cancelled"]


@pytest.mark.parametrize(("before", "restarts"), [([], 1), ([NextStep.AGAIN], 0)])
def test_waiting_for_slurmctld_does_not_give_a_retry_the_time_of_the_attempts_before(
    before: list[NextStep], restarts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = iter([*before, NextStep.WAIT_FOR_CONTROLLER, NextStep.DONE])
    timer, stop = Mock(), Mock(requested=False)
    monkeypatch.setattr(driver, "Timer", lambda: timer)
    monkeypatch.setattr(driver, "attempt", lambda *_: (next(steps), True))
    one = driver._Driver(Mock(log=""), {}, stop, shares_job=False)
    one._repetition(Mock(), 0, one.output)
    assert timer.restart.call_count == restarts
    assert stop.wait.call_count == 1
