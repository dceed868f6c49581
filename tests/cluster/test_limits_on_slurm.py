"""Limits that a real Slurm enforces: how sbatch words a refusal, and how many jobs of a sweep are submitted."""

from __future__ import annotations

import json
import subprocess
from collections import Counter

import pytest

from hpcbench.slurm.submit_limits import exceeded_limit

OTHER = "daemon"  # the user of other jobs; Slurm 26.05 takes the name "nobody" for its user 99


@pytest.fixture
def submit(slurm, cluster, remove_user):
    """Submit held jobs as one array, in a cluster with limits; they and the limits are gone afterwards."""
    slurm("sacctmgr", "-i", "add", "qos", "few", "set", "MaxSubmitJobsPerUser=5")
    slurm("sacctmgr", "-i", "add", "qos", "short", "set", "MaxWall=1", "Flags=DenyOnLimit", "GrpSubmitJobs=9")
    slurm("sacctmgr", "-i", "add", "qos", "single", "set", "MaxSubmitJobsPerAccount=4")
    slurm("sacctmgr", "-i", "add", "account", "department", "set", "GrpSubmitJobs=12")
    slurm("sacctmgr", "-i", "add", "account", "laboratory", "parent=department", "set", "MaxSubmitJobs=7")
    for user in ("root", OTHER):
        slurm("sacctmgr", "-i", "add", "user", user, "account=laboratory", "qos=normal,few,short,single")
    slurm("sacctmgr", "-i", "modify", "user", "root", "where", "account=root", "set", "qos+=few,short,single")

    def submitted(tasks, *options, user="root", **asked):
        words = [f"--{name}={value}" for name, value in asked.items()]
        words += [f"--array=0-{tasks - 1}", "--hold", "--job-name=limits", "--chdir=/tmp", "--output=/dev/null"]
        other = [] if user == "root" else ["runuser", "-u", user, "--"]
        command = [*other, "sbatch", "--parsable", *words, *options, "--wrap=true"]
        return subprocess.run(command, env=cluster.variables, capture_output=True, text=True, timeout=60)

    yield submitted
    slurm("scancel", "--name=limits")
    slurm("sacctmgr", "-i", "modify", "user", "root", "where", "account=root", "set", "qos=normal")
    for user in ("root", OTHER):
        remove_user(user, "laboratory")
    slurm("sacctmgr", "-i", "delete", "account", "laboratory,department")
    slurm("sacctmgr", "-i", "delete", "qos", "few,short,single")


@pytest.mark.versions("limits")
def test_refusals_for_too_many_jobs_are_known_from_others(submit):
    refused = {
        "QOSMaxSubmitJobPerUserLimit": submit(6, qos="few"),
        "AssocMaxSubmitJobLimit": submit(8, account="laboratory"),
        "QOSGrpSubmitJobsLimit": submit(10, qos="short", time="1"),
        "MaxSubmitJobsPerAccount": submit(5, qos="single"),
    }
    assert submit(6, account="laboratory", user=OTHER).returncode == 0
    refused["AssocGrpSubmitJobsLimit"] = submit(7, account="laboratory")
    for reason, done in refused.items():
        assert done.returncode
        assert exceeded_limit(done.stderr).endswith(f"({reason})"), done.stderr
    too_long = submit(1, qos="short", time="10")
    assert "Job violates accounting/QOS policy" in too_long.stderr
    for other in (too_long, submit(1, qos="unknown"), submit(10**6)):
        assert other.returncode
        assert exceeded_limit(other.stderr) == "", other.stderr


def sweep(cluster, cases, expect=0, **slurm):
    """Submit a sweep of jobs that wait for a date; return stderr."""
    content = {
        "name": "trial",
        "measure": {"repetitions": 1, "retries": 0},
        "matrix": {"seed": {"range": [1, cases]}},
        "parameters": {"framework": "command", "command": "true"},
        "slurm": {"time": "00:01:00", "mem": "200M", "options": {"begin": "now+1hour"}, **slurm},
    }
    (cluster.workspace / "trial.yaml").write_text(json.dumps(content))
    return cluster("sweep", "trial.yaml", expect=expect).stderr


def queued(slurm):
    """The number of jobs of a sweep's arrays in the queue, and of continuation jobs, with what these wait for."""
    rows = slurm("squeue", "--noheader", "--array", "--format=%j|%E").splitlines()
    ours = [row.split("|") for row in rows if row.startswith("trial")]
    waits = [dependency for name, dependency in ours if name.endswith(".follow-on")]
    return len(ours) - len(waits), waits


@pytest.fixture
def cleared(cluster, submit):
    yield
    cluster("cancel", "latest", expect=None)


@pytest.mark.versions("limits")
@pytest.mark.usefixtures("cleared")
def test_a_qos_is_filled_exactly_and_the_rest_is_left(cluster, submit, slurm):
    assert submit(1, qos="few").returncode == 0
    said = sweep(cluster, 9, qos="few")
    assert "5 jobs of" in said
    assert "your limit on jobs in the queue in this QOS is reached (QOSMaxSubmitJobPerUserLimit)" in said
    assert queued(slurm) == (4, [])
    assert Counter(cluster.states()) == {"pending": 4, "planned": 5}


@pytest.mark.versions("limits")
@pytest.mark.usefixtures("cleared")
def test_jobs_of_other_users_count_for_the_account_and_the_continuation_job_has_a_place(cluster, submit, slurm):
    assert submit(6, account="laboratory", user=OTHER).returncode == 0
    said = sweep(cluster, 20, account="laboratory", follow_on=True)
    assert "15 jobs of" in said
    assert "continuation job" in said
    jobs, (dependency,) = queued(slurm)
    assert jobs == 5
    assert dependency.count("afterany:") == 3


@pytest.mark.versions("limits")
@pytest.mark.usefixtures("cleared")
def test_another_refusal_is_an_error_that_quotes_slurm(cluster, submit, slurm):
    said = sweep(cluster, 3, expect=2, qos="short", time="00:10:00")
    assert "Job violates accounting/QOS policy" in said
    assert queued(slurm) == (0, [])
