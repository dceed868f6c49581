"""How many jobs fit under a limit of a real Slurm: as many as are computed, and not one more."""

from __future__ import annotations

import subprocess

import pytest

from hpcbench.config.site import Site
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.slurm.submit_limits import Limits, Room, is_full

SITE = Site(name="cluster", scheduler="slurm")
OTHER = "nobody"  # jobs of somebody else


@pytest.fixture
def submit(accounting_cluster, slurm, monkeypatch):
    """Submit held jobs as one array, in a cluster with limits; they and the limits are gone afterwards."""
    monkeypatch.setenv("SLURM_CONF", accounting_cluster["SLURM_CONF"])
    slurm("sacctmgr", "-i", "add", "qos", "few", "set", "MaxSubmitJobsPerUser=5")
    slurm("sacctmgr", "-i", "add", "qos", "short", "set", "MaxWall=1", "Flags=DenyOnLimit", "GrpSubmitJobs=9")
    slurm("sacctmgr", "-i", "add", "account", "department", "set", "GrpSubmitJobs=12")
    slurm("sacctmgr", "-i", "add", "account", "laboratory", "parent=department", "set", "MaxSubmitJobs=7")
    for user in ("root", OTHER):
        slurm("sacctmgr", "-i", "add", "user", user, "account=laboratory", "set", "qos=normal,few,short")
    slurm("sacctmgr", "-i", "modify", "user", "root", "where", "account=root", "set", "qos+=few,short")

    def submitted(tasks, *options, user="root", **asked):
        words = [f"--{name}={value}" for name, value in asked.items()]
        words += [f"--array=0-{tasks - 1}", "--hold", "--job-name=limits", "--chdir=/tmp", "--output=/dev/null"]
        command = ["sbatch", "--parsable", f"--uid={user}", *words, *options, "--wrap=true"]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    yield submitted
    slurm("scancel", "--name=limits")
    slurm("sacctmgr", "-i", "modify", "user", "root", "where", "account=root", "set", "qos=normal")
    for user in ("root", OTHER):
        slurm("sacctmgr", "-i", "remove", "user", user, "where", "account=laboratory")
    slurm("sacctmgr", "-i", "delete", "account", "laboratory,department")
    slurm("sacctmgr", "-i", "delete", "qos", "few,short")


def room(**asked: str) -> Room:
    return Limits.read(SITE).room(SlurmOptions.model_validate(asked))


def test_a_qos_takes_as_many_jobs_of_a_user_as_are_computed_and_not_one_more(submit):
    assert room(qos="few") == Room(5, "MaxSubmitJobsPerUser of QOS few: 0 of 5 jobs")
    assert submit(3, qos="few").returncode == 0
    assert room(qos="few") == Room(2, "MaxSubmitJobsPerUser of QOS few: 3 of 5 jobs")
    refused = submit(3, qos="few")
    assert "QOSMaxSubmitJobPerUserLimit" in refused.stderr
    assert is_full(refused.stderr)
    assert submit(2, qos="few").returncode == 0
    assert room(qos="few").tasks == 0


def test_jobs_of_others_count_for_the_account_above(submit):
    mine = SlurmOptions(account="laboratory")
    limits = Limits.read(SITE)
    words = "MaxSubmitJobs of user root under account laboratory: 0 of 7 jobs"
    assert limits.room(mine) == Room(7, words)
    done = submit(6, account="laboratory", user=OTHER)
    assert done.returncode == 0, done.stderr
    assert room(account="laboratory") == Room(6, "GrpSubmitJobs of account department: 6 of 12 jobs")
    refused = submit(7, account="laboratory")
    assert "AssocGrpSubmitJobsLimit" in refused.stderr
    assert is_full(refused.stderr)
    assert submit(6, account="laboratory").returncode == 0
    assert room(account="laboratory").tasks == 0


def test_what_was_submitted_is_counted_as_slurm_counts_it(submit):
    asked = SlurmOptions(account="laboratory", qos="few", partition="debug")
    before = Limits.read(SITE)
    assert submit(4, account="laboratory", qos="few", partition="debug").returncode == 0
    counted, told = before.submitted(asked, 4).used, Limits.read(SITE).used
    changed = {name for name in told if told[name] != before.used.get(name, 0)}
    assert changed, "the jobs are there"
    assert {name: counted.get(name) for name in changed} == {name: told[name] for name in changed}


def test_a_job_that_will_never_be_taken_is_not_one_too_many(submit):
    too_long = submit(1, qos="short", time="10")
    assert "Job violates accounting/QOS policy" in too_long.stderr
    assert not is_full(too_long.stderr)
    assert not is_full(submit(1, qos="unheard-of").stderr)
    assert submit(9, qos="short", time="1").returncode == 0
    assert is_full(submit(1, qos="short", time="1").stderr)


def test_the_limits_hold_while_slurmdbd_is_down(submit, monkeypatch, tmp_path):
    """An sacctmgr that fails stands for it: the cluster is needed by other tests."""
    assert submit(3, qos="few").returncode == 0
    (tmp_path / "sacctmgr").write_text("#!/bin/sh\necho 'Connection refused' >&2\nexit 1\n")
    (tmp_path / "sacctmgr").chmod(0o755)
    with monkeypatch.context() as without:
        without.setenv("PATH", str(tmp_path), prepend=":")
        assert room(qos="few") == Room(2, "MaxSubmitJobsPerUser of QOS few: 3 of 5 jobs")


def test_a_cluster_without_accounting_is_limited_by_what_its_controller_keeps(plain_cluster, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", plain_cluster["SLURM_CONF"])
    found = room(qos="few", account="laboratory")
    assert found.limit.startswith("MaxJobCount of the cluster: ")
    assert found.tasks is not None
    assert 0 < found.tasks < 50000
