"""A sweep on this machine, with the real PyTorch, from the file to the table."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import CommandLine

pytestmark = pytest.mark.torch

FAULTS = Path(__file__).parents[2] / "cluster" / "faults"
RAISES, CRASHES, SLEEPS = 1, 2, 3
INFERENCE = {"task": "inference"}  # the first optimizer of a process takes PyTorch as long as its import

COLUMNS = [
    "sweep",
    "case",
    "status",
    "framework",
    "framework_version",
    "model",
    "task",
    "strategy",
    "device",
    "dtype",
    "batch_size",
    "nodes",
    "tasks_per_node",
    "cpus_per_task",
    "gpus_per_task",
    "intra_op_threads",
    "inter_op_threads",
    "runs",
    "measurements",
    "time_median_s",
    "time_ci_low_s",
    "time_ci_high_s",
    "time_mean_s",
    "time_std_s",
    "time_p95_s",
    "time_p99_s",
    "throughput_items_per_s",
    "speedup",
    "parameter_count",
    "flops_per_item",
    "peak_memory_bytes",
    "nodes_used",
    "job_id",
    "error",
    "param_purpose",
]


@pytest.fixture
def faulty(command_line):
    """The command line, with an environment in which the case's seed chooses a fault."""
    site = command_line.site(environments={"pytorch": {"env": {"PYTHONPATH": str(FAULTS)}}})
    command_line.environment = {"HPCBENCH_SITE": site}
    return command_line


@pytest.fixture(scope="module")
def two_sweeps(tmp_path_factory):
    """The command line in a workspace with two finished sweeps of equal cases, `first` and `second`."""
    command_line = CommandLine(tmp_path_factory.mktemp("two-sweeps"))
    experiment = command_line.experiment(
        user_parameters=["purpose", "sweep"],
        zip=[{"purpose": ["a first look", "a second"], "batch_size": [4, 8]}],
        parameters={"sweep": "a tag", **INFERENCE},
    )
    for name in ("first", "second"):
        command_line("sweep", experiment, "--local", "--name", name)
    return command_line


def test_a_sweep_ends_in_a_table_with_every_column(two_sweeps):
    rows = two_sweeps.report("first")
    assert len(rows) == 2
    assert set(COLUMNS) <= set(rows[0])
    assert {row["param_purpose"] for row in rows} == {"a first look", "a second"}
    for row in rows:
        assert float(row["time_ci_low_s"]) <= float(row["time_median_s"]) <= float(row["time_ci_high_s"])
        rate = float(row["batch_size"]) / float(row["time_median_s"])
        assert float(row["throughput_items_per_s"]) == pytest.approx(rate)
    assert len(two_sweeps.report("first", "--level", "run")) == 2
    samples = two_sweeps.report("first", "--level", "measurement")
    for row in rows:
        assert len([sample for sample in samples if sample["case"] == row["case"]]) == int(row["measurements"])


def test_report_writes_parquet_and_takes_several_sweeps_and_a_base(two_sweeps):
    two_sweeps("report", "first", "second", "--parquet", "both.parquet", "--baseline-case", "sweep=first,batch_size=8")
    frame = pd.read_parquet(two_sweeps.workspace / "both.parquet")
    assert list(frame["sweep"].value_counts()) == [2, 2]
    base = frame[(frame["sweep"] == "first") & (frame["batch_size"] == 8)]
    assert list(base["speedup"]) == [1.0]
    assert "matches 2 cases" in two_sweeps("report", "first", "--baseline-case", "sweep=first", expect=2).stderr


def test_a_report_holds_itself_against_the_rules_and_says_what_to_do(two_sweeps):
    told = two_sweeps("report", "first").stdout
    assert "rule 5 (intervals): 2 of 2 cases have one run" in told
    # All of them: the terminal has but four lines for them, and others' load takes some.
    every = two_sweeps("report", "first", "--rules").stdout
    assert "base case      not applicable: no case has a speedup over another case" in every, "their batch sizes differ"
    shown = re.findall(r"^ ?(\d+) [a-z ]+ (?:(?:not )?kept|not applicable): ", every, re.MULTILINE)
    assert list(dict.fromkeys(shown)) == [str(rule) for rule in range(1, 13)]
    assert not two_sweeps("report", "first", "--csv", "-").stdout.count("rule")


def test_a_base_is_named_by_a_tag_as_the_table_shows_it(two_sweeps):
    """The other case has another problem size, hence no speedup over it."""
    rows = two_sweeps.report("first", "--baseline-case", "purpose=a second")
    assert {row["param_purpose"]: row["speedup"] for row in rows} == {"a second": "1.0", "a first look": ""}


def test_cases_are_ranked_by_a_percentile_of_single_steps(command_line):
    steps = {"model": "lstm", "model_options": {}, "task": "inference"}  # long enough to be timed one by one
    enough = {"min_measurements": 30, "max_time_s": 60, "precision": 0.9}
    command_line("sweep", command_line.experiment(parameters=steps, measure=enough), "--local")
    (row,) = command_line.report("--metric", "time_p90_s")
    assert float(row["time_p50_s"]) <= float(row["time_p90_s"])
    assert "add --csv - or --csv FILE" in command_line("report", "--level", "measurement", expect=2).stderr
    assert (
        "unknown metric 'time_p90_s:higher'" in command_line("report", "--metric", "time_p90_s:higher", expect=2).stderr
    )
    assert (row["time_p999_s"], row["measurements_averaged_over"]) == ("", "")
    told = command_line("report", "--metric", "time_p90_s").stdout
    assert "\np90 (ms) " in told
    rules = command_line("report", "--metric", "time_p90_s", "--rules").stdout
    assert "comparison     not applicable: no workload has two measured cases" in rules
    (repetition,) = command_line.report("--level", "run")
    assert repetition["time_p90_s"] == row["time_p90_s"]


def test_each_fault_on_the_laptop_is_told_apart(faulty):
    experiment = faulty.experiment(
        parameters=INFERENCE, matrix={"seed": [0, RAISES, CRASHES, SLEEPS]}, slurm={"time": "0:30"}
    )
    faulty("sweep", experiment, "--local", "--no-fail-fast", expect=1)
    by_seed = {record["parameters"]["seed"]: record for record in faulty.records()}
    statuses = {seed: record["status"] for seed, record in by_seed.items()}
    assert statuses == {0: "completed", RAISES: "failed", CRASHES: "failed", SLEEPS: "timeout"}
    assert "a deliberate mistake" in faulty("report", expect=1).stdout


def test_ctrl_c_ends_the_repetition_and_resume_goes_on(faulty, wait_until):
    experiment = faulty.experiment(parameters=INFERENCE, matrix={"seed": [SLEEPS, 0, 5]}, measure={"shuffle_seed": 3})
    sweep = faulty.start("sweep", experiment)
    wait_until(lambda: list(faulty.workspace.glob("results/*/running/*/*")))
    sweep.send_signal(signal.SIGINT)
    _, errors = sweep.communicate(timeout=60)
    assert sweep.returncode == 130
    kept = "completed runs are kept; to continue: hpcbench resume trial-"
    assert [line.startswith(kept) for line in errors.splitlines()[-2:]] == [True, False]
    assert errors.endswith("\nerror: interrupted\n")
    assert not _processes_of(faulty.workspace), "nothing keeps running"
    assert "next:         to resume 3 runs: hpcbench resume trial-" in faulty("status").stdout
    before = len(faulty.records())
    site = faulty.workspace / "jobs"
    script = next(site.glob("*/job-001.sh"))
    script.write_text(script.read_text().replace(str(FAULTS), "/nowhere"))  # the fault is mended
    faulty("resume", "latest")
    assert faulty.states() == {"completed": 3}
    assert len(faulty.records()) > before


def test_two_tasks_train_together_on_the_laptop(command_line):
    if (os.cpu_count() or 1) < 2:
        pytest.skip("two tasks need two CPUs")
    parameters = {"strategy": "ddp", "tasks_per_node": 2, "intra_op_threads": 1}
    command_line("sweep", command_line.experiment(parameters=parameters), "--local")
    (record,) = command_line.records()
    assert [len(cpus) for cpus in record["affinity"]] == [1, 1]
    assert record["affinity"][0] != record["affinity"][1]


def test_what_this_machine_lacks_is_a_record_that_says_so(command_line):
    resources = [{"nodes": [2, 1, 1], "cpus_per_task": [1, 4096, 1], "device": ["cpu", "cpu", "gpu"]}]
    command_line("sweep", command_line.experiment(zip=resources, parameters={"strategy": "ddp"}), "--local", expect=1)
    messages = " ".join(record["error"]["message"] for record in command_line.records())
    assert {record["status"] for record in command_line.records()} == {"unsupported"}
    for word in ("requests 2 nodes", "requests 4096 CPUs", "a GPU is requested"):
        assert word in messages
    told = command_line("resume", "latest").stderr
    assert "0 runs to resume" in told
    assert "3 runs cannot run here; if that has changed, start a new sweep" in told


def test_a_script_that_dies_in_its_setup_leaves_a_record(command_line):
    site = command_line.site(environments={"pytorch": {"setup": ["echo cannot go on", "exit 3"]}})
    command_line("sweep", command_line.experiment(), "--site", site, expect=1)
    (record,) = command_line.records()
    assert record["status"] == "failed"
    assert "cannot go on" in record["error"]["message"]


def test_a_set_up_line_that_fails_is_no_measurement(command_line):
    site = command_line.site(environments={"pytorch": {"setup": ["source /no/such/activate", "true"]}})
    command_line("sweep", command_line.experiment(), "--site", site, expect=1)
    (record,) = command_line.records()
    assert record["status"] == "failed"
    assert "/no/such/activate" in record["error"]["message"]


def test_a_script_killed_before_its_record_loses_nothing(command_line):
    """The ranks have left their results; whoever looks next makes the record of them."""
    command_line("sweep", command_line.experiment(parameters=INFERENCE), "--local", "--render-only")
    script = next(command_line.workspace.glob("jobs/*/job-001.sh"))
    text = script.read_text()
    assert text.count("--python ") == 2
    # The Python of the workload is one that, after its rank, kills the driver that started it.
    python = command_line.workspace / "python"
    python.write_text(f'#!/bin/bash\n{sys.executable} "$@"\n[ "$2" != rank ] || kill -9 $PPID\n')
    python.chmod(0o755)
    head, _, _ = text.rpartition("--python ")
    script.write_text(f"{head}--python {python}\n")
    command_line("resume", "latest")
    (record,) = command_line.records()
    assert record["status"] == "completed"
    assert len(record["measurements"]["times_s"]) >= 5
    assert record["attempt"] is None
    assert not list(command_line.workspace.glob("results/*/running/*/*")), "they must not speak for a later attempt"


def test_what_has_not_run_yet_is_in_the_table_and_in_the_exit_status(command_line):
    command_line(
        "sweep",
        command_line.experiment(parameters=INFERENCE, matrix={"batch_size": [1, 2]}),
        "--local",
        "--render-only",
    )
    subprocess.run(["bash", next(command_line.workspace.glob("jobs/*/job-001.sh")), "1"], check=True)
    rows = command_line.report(expect=1)
    assert sorted(row["status"] for row in rows) == ["completed", "planned"]
    assert command_line("status", "--json").returncode == 0


def test_a_value_is_data_wherever_it_goes(command_line):
    nasty = "a'b\"c $(touch pwned) `touch pwned` ; touch pwned \\ {{ nodes }} #\n* é"
    site = command_line.site(environments={"pytorch": {"env": {"OMP_NASTY": nasty}}})
    experiment = command_line.experiment(
        user_parameters=["note"], parameters={"note": nasty.replace("{{ nodes }}", ""), **INFERENCE}
    )
    command_line("sweep", experiment, "--site", site)
    (record,) = command_line.records()
    assert record["environment"]["OMP_NASTY"] == nasty
    assert record["user_parameters"]["note"] == nasty.replace("{{ nodes }}", "")
    assert not list(command_line.workspace.rglob("pwned"))


def test_a_full_disk_is_said_and_nothing_is_half_written(command_line, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("a small file system can be mounted by root only")
    try:
        experiment = command_line.experiment(matrix={"seed": {"range": [1, 2000]}})
        done = command_line("-C", str(disk), "sweep", experiment, "--local", expect=2)
        assert "No space left on device" in done.stderr
        assert "nothing was submitted" in done.stderr
        assert not list(disk.glob("jobs/*")), "no half-written sweep"
        assert not list(disk.glob("jobs/.*"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def _processes_of(workspace: Path) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if f"{workspace}/jobs" in line]
