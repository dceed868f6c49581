"""Runs that share a job, and sweeps that are larger than the queue, on a real Slurm."""

from __future__ import annotations

import json
import subprocess
from collections import Counter

import pytest


@pytest.fixture
def commands(cluster):
    """Write an experiment of shell commands."""

    def write(line, name="trial", **sections):
        content = {
            "name": name,
            "measure": {"repetitions": 1, "retries": 0},
            **sections,
            "parameters": {"framework": "command", "command": line, **sections.get("parameters", {})},
            "slurm": {"time": "00:01:00", "mem": "200M", **sections.get("slurm", {})},
        }
        (cluster.workspace / f"{name}.yaml").write_text(json.dumps(content))
        return f"{name}.yaml"

    return write


def statuses(cluster):
    return Counter(record["status"] for record in cluster.records())


def files_of_records(cluster):
    return [path.name for path in cluster.workspace.glob("results/*/records/*.*/*.jsonl")]


@pytest.mark.versions("job bundles")
def test_short_cases_share_a_job_and_one_file_of_records_up_to_the_walltime_of_a_pack(cluster, commands):
    experiment = commands(
        "echo {{ seed }}", matrix={"seed": {"range": [1, 8]}}, slurm={"pack_walltime": "00:03:00", "max_running": 2}
    )
    cluster("sweep", experiment, "--wait")
    assert statuses(cluster) == {"completed": 8}
    assert len(files_of_records(cluster)) == 3, "three each: eight need three jobs"
    script = (cluster.workspace / "jobs").glob("*/job-001.sh").__next__().read_text()
    assert "#SBATCH --array=0-2%2\n" in script
    assert "#SBATCH --time=0:03:00\n" in script


@pytest.mark.long
def test_a_repetition_that_hangs_is_ended_at_its_own_wall_time_and_those_after_it_run(cluster, commands):
    experiment = commands(
        "[ {{ seed }} = 2 ] && sleep 500; true",
        matrix={"seed": [1, 2, 3]},
        measure={"repetitions": 1, "retries": 0, "shuffle_seed": 1},
        slurm={"time": "00:00:15", "pack_walltime": "00:05:00"},
    )
    cluster("sweep", experiment, "--wait", expect=1)
    by_seed = {record["parameters"]["seed"]: record for record in cluster.records()}
    assert {seed: record["status"] for seed, record in by_seed.items()} == {
        1: "completed",
        2: "timeout",
        3: "completed",
    }
    assert "the time limit is 15 s" in by_seed[2]["error"]["message"]
    assert len(files_of_records(cluster)) == 1


def test_what_a_job_has_no_time_left_for_is_handed_to_resume_which_packs_by_how_long_it_took(cluster, commands, slurm):
    """The job is cut short by its time limit, which slurmctld lowers while it runs."""
    experiment = commands(
        "[ -e hurry ] || sleep 12",
        matrix={"seed": {"range": [1, 8]}},
        slurm={"pack_walltime": "00:08:00", "time": "00:01:00"},
    )
    cluster("sweep", experiment)
    (name,) = (path.name for path in (cluster.workspace / "jobs").iterdir())
    job = slurm("squeue", "--noheader", "--states=all", f"--user={0}", "--format=%A|%j").splitlines()
    (job_id,) = (line.split("|")[0] for line in job if line.split("|")[1].startswith(f"{name}."))
    slurm("scontrol", "update", f"JobId={job_id}", "TimeLimit=1")
    cluster("status", "--watch", expect=None)
    counts = cluster.states()
    assert counts["planned"] >= 1
    assert "failed" not in counts
    assert "before its turn" in cluster("status").stdout
    (cluster.workspace / "hurry").touch()
    cluster("resume", "latest", "--wait")
    assert cluster.states() == {"completed": 8}
    later = [path for path in (cluster.workspace / "jobs" / name / "packs").iterdir() if "." in path.name]
    assert len(later) == 2
    cut_off = [record for record in cluster.records() if record["status"] == "cancelled"]
    assert all(record["error"]["type"] == "job_time" for record in cut_off)


@pytest.mark.versions("job bundles")
def test_side_by_side_each_repetition_has_a_core_of_its_own(cluster, commands):
    site = cluster.site("wide", scheduler="slurm", partitions={"cpu": {"default": True, "cpus_per_node": 2}})
    line = "taskset -cp $$ | grep -o '[0-9,-]*$' > where.{{ seed }}; sleep 3"
    experiment = commands(line, matrix={"seed": [1, 2]}, slurm={"pack_walltime": "00:05:00", "pack": "parallel"})
    cluster("sweep", experiment, "--site", site, "--wait")
    cores = {(cluster.workspace / f"where.{seed}").read_text().strip() for seed in (1, 2)}
    assert cores == {"0", "1"}
    first, second = cluster.records()
    assert first["started_at"] < second["ended_at"]
    assert second["started_at"] < first["ended_at"]


@pytest.mark.versions("continuation jobs")
def test_a_sweep_larger_than_the_queue_goes_on_by_itself_where_that_is_asked(cluster, commands, wait_until):
    site = cluster.site("small", scheduler="slurm", limits={"max_submit_jobs": 4})
    experiment = commands("true", matrix={"seed": {"range": [1, 9]}}, slurm={"follow_on": True})
    said = cluster("sweep", experiment, "--site", site).stderr
    assert "6 jobs of" in said
    assert "did not fit into the queue" in said
    wait_until(lambda: cluster.states() == {"completed": 9}, seconds=150)
    assert statuses(cluster) == {"completed": 9}


@pytest.fixture
def few(slurm):
    """A QOS that takes four jobs of a user, with one of them that is not ours."""
    slurm("sacctmgr", "-i", "add", "qos", "four", "set", "MaxSubmitJobsPerUser=4")
    slurm("sacctmgr", "-i", "modify", "user", "root", "set", "qos+=four")
    slurm("sbatch", "--hold", "--qos=four", "--job-name=other", "--chdir=/tmp", "--output=/dev/null", "--wrap=true")
    yield "four"
    slurm("scancel", "--name=other")
    slurm("sacctmgr", "-i", "modify", "user", "root", "set", "qos-=four")
    slurm("sacctmgr", "-i", "delete", "qos", "four")


@pytest.mark.versions("continuation jobs")
@pytest.mark.long
def test_a_sweep_larger_than_what_a_qos_takes_goes_on_by_itself(cluster, commands, few, wait_until):
    experiment = commands("true", matrix={"seed": {"range": [1, 7]}}, slurm={"follow_on": True, "qos": few})
    said = cluster("sweep", experiment).stderr
    assert "your limit on jobs in the queue in this QOS is reached (QOSMaxSubmitJobPerUserLimit)" in said
    wait_until(lambda: cluster.states() == {"completed": 7}, seconds=150)
    assert statuses(cluster) == {"completed": 7}


def test_a_sweep_goes_on_when_others_who_fill_the_queue_have_gone(cluster, commands, few, slurm, wait_until):
    experiment = commands("sleep 2", matrix={"seed": {"range": [1, 6]}}, slurm={"follow_on": True, "qos": few})
    cluster("sweep", experiment)

    def filled() -> bool:
        held = ["sbatch", "--hold", f"--qos={few}", "--job-name=other", "--chdir=/tmp", "--output=/dev/null"]
        held.append("--wrap=true")
        subprocess.run(held, env=cluster.variables, capture_output=True)
        return len(slurm("squeue", "--noheader", "--name=other").splitlines()) == 3

    wait_until(filled, seconds=60)
    follows = ["squeue", "--noheader", f"--qos={few}", "--state=PENDING", "--format=%j|%r"]
    wait_until(lambda: ".follow-on|BeginTime" in slurm(*follows), seconds=60)
    assert cluster.states() == {"planned": 4, "completed": 2}
    slurm("scancel", "--name=other")

    def all_completed() -> bool:
        # The job waits two or ten minutes, depending on whether the others came before it ran: these pass at once.
        for job in slurm("squeue", "--noheader", f"--qos={few}", "--state=PENDING", "--format=%i|%r").splitlines():
            if job.endswith("|BeginTime"):
                now = ["scontrol", "update", f"JobId={job.split('|')[0]}", "StartTime=now"]
                subprocess.run(now, env=cluster.variables, capture_output=True)  # it may have started in the meantime
        return cluster.states() == {"completed": 6}

    wait_until(all_completed, seconds=300)
    assert statuses(cluster) == {"completed": 6}


def test_a_sweep_larger_than_the_queue_says_how_to_go_on(cluster, commands):
    site = cluster.site("small", scheduler="slurm", limits={"max_submit_jobs": 2})
    experiment = commands("true", matrix={"seed": [1, 2, 3]})
    said = cluster("sweep", experiment, "--site", site, "--wait", expect=1).stderr
    assert "1 job of" in said
    assert "hpcbench resume" in said
    assert cluster.states() == {"planned": 1, "completed": 2}
    cluster("resume", "latest", "--missing", "--wait")
    assert cluster.states() == {"completed": 3}
