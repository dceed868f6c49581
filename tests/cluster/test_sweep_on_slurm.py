"""Submitting, cancelling, resuming and reporting through a real Slurm."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import yaml
from sklearn.datasets import load_digits

from tests.cluster.conftest import PROGRAM


@pytest.mark.versions("arrays")
def test_a_sweep_runs_through_slurm_as_arrays_and_reports_like_the_laptop(cluster):
    experiment = cluster.experiment(
        parameters={"cpus_per_task": "{{ intra_op_threads }}", "task": "inference"},
        zip=[{"intra_op_threads": [1, 1, 2], "batch_size": [8, 16, 8]}],
        measure={"repetitions": 2},
    )
    cluster("sweep", experiment, "--wait")
    on_slurm = cluster.report()
    cluster("sweep", experiment, "--local", "--name", "laptop", "--set", "measure.repetitions=1")
    on_laptop = cluster.report("laptop")
    assert {row["case"] for row in on_slurm} == {row["case"] for row in on_laptop}
    assert list(on_slurm[0]) == list(on_laptop[0])
    assert len({row["job_id"].split("_")[0] for row in on_slurm}) == 2, "equal resources make one array"
    for row in on_slurm:
        assert row["effective_intra_op_threads"] == row["intra_op_threads"]
        left_out = 0 if row["interference"] == "interference" else int(row["interference_runs"])  # by other tests
        assert int(row["runs"]) + left_out == 2


@pytest.mark.versions("tasks and CPU binding")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs; not run: two instances of one task")
def test_the_instances_of_a_task_are_the_ranks_of_its_repetition(cluster):
    parameters = {"cpus_per_task": 2, "instances": 2, "intra_op_threads": 1, "affinity": "cores"}
    cluster("sweep", cluster.experiment(parameters=parameters), "--wait")
    (record,) = cluster.records()
    assert [(rank["rank"], rank["status"]) for rank in record["ranks"]] == [(0, "completed"), (1, "completed")]
    assert len({cpu for (cpu,) in record["affinity"]}) == 2, "each on a CPU of its own"
    assert record["work"]["items_per_step"] == 2 * record["parameters"]["batch_size"]


@pytest.mark.versions("tasks and CPU binding")
def test_a_task_is_bound_to_as_many_cpus_as_it_asked_for(cluster):
    cluster("sweep", cluster.experiment(parameters={"cpus_per_task": 1, "task": "inference"}), "--wait")
    (record,) = cluster.records()
    if os.cpu_count() > 1:
        assert len(record["affinity"][0]) == 1


@pytest.mark.long
@pytest.mark.versions("several nodes")
def test_two_nodes_train_a_model_each_at_the_same_time(cluster):
    found = load_digits()
    np.savez(cluster.workspace / "digits.npz", x=(found.data / 16).astype(np.float32), y=found.target)
    experiment = cluster.experiment(
        parameters={
            "task": "time_to_accuracy",
            "target_accuracy": 0.88,
            "max_epochs": 3,
            "seed": 3,
            "batch_size": 16,
            "data": {"npz": "digits.npz"},
            "model_options": {"input_size": 64, "hidden_size": 16},
            "nodes": 2,
            "intra_op_threads": 1,
        },
    )
    cluster("sweep", experiment, "--wait")
    (record,) = cluster.records()
    assert len({rank["host"] for rank in record["ranks"]}) == 2
    missed, reached = record["models"]
    assert [missed["seed"], reached["seed"]] == [3, 4]
    assert (missed["elapsed_s"], record["measurements"]["times_s"]) == (None, [reached["elapsed_s"]])
    assert abs(missed["started_unix_s"] - reached["started_unix_s"]) < 60, "they start together"
    (row,) = cluster.report()
    assert float(row["models_per_minute"]) == pytest.approx(60 / reached["elapsed_s"])


@pytest.mark.versions("several nodes")
def test_training_runs_across_two_nodes(cluster):
    cluster("sweep", cluster.experiment(parameters={"strategy": "ddp", "nodes": 2, "intra_op_threads": 1}), "--wait")
    (record,) = cluster.records()
    assert [rank["status"] for rank in record["ranks"]] == ["completed", "completed"]
    assert record["slurm"]["job_num_nodes"] == "2"


@pytest.mark.versions("cancel")
def test_cancel_ends_running_and_pending_repetitions_and_each_has_a_record(cluster, wait_until):
    experiment = cluster.experiment(
        parameters={**PROGRAM, "command": "sleep 600"},
        matrix={"seed": [1, 2, 3]},
        slurm={"max_running": 1},
    )
    cluster("sweep", experiment)
    wait_until(lambda: cluster.states() == {"pending": 2, "running": 1})
    assert "max_running" in cluster("status").stdout
    cluster("cancel", "latest")
    wait_until(lambda: cluster.states() == {"cancelled": 3})
    assert {row["status"] for row in cluster.report(expect=1)} == {"cancelled"}


FLAKY_PYTHON = """#!/bin/sh
[ -e {flag} ] || case "$*" in *" rank "*" 0 "*) exit 7;; esac
exec {python} "$@"
"""


@pytest.mark.versions("resume")
def test_resume_runs_what_failed_and_nothing_else(cluster, tmp_path):
    """The Python of the environment fails for element 0, until a flag is there."""
    flag, python = tmp_path / "mended", tmp_path / "python"
    python.write_text(FLAKY_PYTHON.format(flag=flag, python=sys.executable))
    python.chmod(0o755)
    site = cluster.site("flaky", scheduler="slurm", environments={"command": {"python": str(python)}})
    experiment = cluster.experiment(parameters=PROGRAM, matrix={"seed": [1, 2, 3]})
    cluster("sweep", experiment, "--site", site, "--wait", expect=1)
    assert sorted(record["status"] for record in cluster.records()) == ["completed", "completed", "failed"]
    failed = next(record for record in cluster.records() if record["status"] == "failed")
    assert failed["error"]["exit_code"] == 7
    flag.touch()
    cluster("resume", "latest", "--wait")
    records = cluster.records()
    again = [record["status"] for record in records if record["element"] == failed["element"]]
    assert sorted(again) == ["completed", "failed"]
    assert len(records) == 4
    assert {row["status"] for row in cluster.report()} == {"completed"}
    assert "0 runs to resume" in cluster("resume", "latest").stderr


SBATCH_THAT_KILLS = """#!/bin/bash
echo >> {counter}
if [ "$(wc -l < {counter})" = 2 ]; then
    {before_it_kills}
    kill -9 "$(ps -o ppid= -p $PPID)"  # it stands behind timeout(1)
    exit 1
fi
exec {sbatch} "$@"
"""


@pytest.mark.versions("submission")
@pytest.mark.parametrize(("moment", "arrays"), [("before", 3), ("after", 3)])
def test_resume_after_sigkill_between_two_submissions_submits_nothing_twice(cluster, slurm, tmp_path, moment, arrays):
    """hpcbench is killed while its second sbatch runs: before Slurm has the job, or just after."""
    sbatch = tmp_path / "bin" / "sbatch"
    sbatch.parent.mkdir()
    real = shutil.which("sbatch")
    submits = f'{real} "$@" > /dev/null' if moment == "after" else ":"
    sbatch.write_text(SBATCH_THAT_KILLS.format(counter=tmp_path / "count", before_it_kills=submits, sbatch=real))
    sbatch.chmod(0o755)
    resources = [{"cpus_per_task": [1, 2, 1], "nodes": [1, 1, 2]}]
    experiment = cluster.experiment(parameters=PROGRAM, zip=resources)
    path = f"{sbatch.parent}:{os.environ['PATH']}"
    killed = cluster("sweep", experiment, "--name", f"killed-{moment}", expect=None, env={"PATH": path})
    assert killed.returncode == -9
    cluster("resume", "latest", "--wait")
    records = cluster.records()
    assert [record["status"] for record in records] == ["completed"] * 3
    listed = slurm("squeue", "--noheader", "--states=all", "--format=%F %j").splitlines()  # accounting lags behind
    assert len({line.split()[0] for line in listed if f"killed-{moment}." in line}) == arrays


@pytest.mark.versions("submission")
def test_a_bare_sbatch_of_a_rendered_script_is_found_by_report(cluster, wait_until):
    experiment = cluster.experiment(parameters=PROGRAM, matrix={"seed": [1, 2]})
    scripts = cluster("sweep", experiment, "--render-only").stdout.split()
    assert cluster.states() == {"planned": 2}
    subprocess.run(["sbatch", scripts[0]], env=cluster.variables, check=True, cwd="/", capture_output=True)
    wait_until(lambda: cluster.states() == {"completed": 2})
    assert [row["status"] for row in cluster.report()] == ["completed", "completed"]


@pytest.mark.versions("submission")
def test_sbatch_saying_no_is_told_in_its_own_words_and_resume_goes_on(cluster):
    experiment = cluster.experiment(slurm={"partition": "nosuchpartition"})
    refused = cluster("sweep", experiment, expect=2)
    assert "invalid partition specified: nosuchpartition" in refused.stderr
    assert "hpcbench resume" in refused.stderr
    assert cluster.states() == {"planned": 1}


@pytest.mark.versions("submission")
def test_variables_of_the_login_shell_neither_override_the_script_nor_hide_its_jobs(cluster):
    shell = {"SBATCH_PARTITION": "nosuchpartition", "SBATCH_TIMELIMIT": "x", "SQUEUE_PARTITION": "gpu"}
    experiment = cluster.experiment(parameters=PROGRAM, slurm={"partition": "debug"})
    told = cluster("sweep", experiment, "--wait", env=shell).stderr
    assert "no effect: SBATCH_TIMELIMIT" in told
    (record,) = cluster.records()
    assert record["slurm"]["job_partition"] == "debug"
    assert record["attempt"] == 1


def test_a_token_in_the_environment_reaches_no_record(cluster):
    secret = "hunter2-very-secret"  # noqa: S105
    cluster("sweep", cluster.experiment(), "--wait", env={"HF_TOKEN": secret, "OMP_WAIT_POLICY": "PASSIVE"})
    (record,) = cluster.records()
    assert record["environment"]["OMP_WAIT_POLICY"] == "PASSIVE"
    everything = b"".join(path.read_bytes() for path in cluster.workspace.rglob("*") if path.is_file())
    assert secret.encode() not in everything


@pytest.mark.versions("site file of a cluster")
def test_init_writes_a_site_file_that_works(cluster):
    cluster("init", "study")
    cluster.workspace /= "study"
    (site,) = (cluster.workspace / "configs" / "sites").glob("*.yaml")
    assert "cpu" in site.read_text()
    del cluster.environment["HPCBENCH_SITE"]
    dry = cluster("sweep", "quickstart", "--dry-run").stdout
    assert f"on {site.stem} (slurm)" in dry
    bad = cluster("sweep", "quickstart", "--set", "slurm.partition=cpus", expect=2)
    assert "did you mean 'cpu'?" in bad.stderr


def test_later_runs_wait_for_the_first_and_do_not_start_if_it_fails(cluster):
    """With --fail-fast; the jobs of the later runs start, and end at once."""
    content = {"name": "trial", "parameters": {"framework": "command", "command": "[ -e fuel ] || exit 3"}}
    content |= {"matrix": {"seed": [1, 2, 3]}, "measure": {"repetitions": 1, "retries": 0}}
    (cluster.workspace / "trial.yaml").write_text(yaml.safe_dump(content))
    cluster("sweep", "trial.yaml", "--name", "trial", "--fail-fast", "--wait", expect=1)
    ended = {(record["status"], (record["error"] or {}).get("type")) for record in cluster.records()}
    assert ended == {("failed", "exit"), ("skipped", "stopped")}
    assert "not started, because the first run failed: the command exited with 3" in cluster("status", "trial").stdout
    (cluster.workspace / "fuel").touch()
    cluster("resume", "trial", "--wait")
    assert "3 completed" in cluster("status", "trial").stdout
