"""A search in one job of a real Slurm."""

from __future__ import annotations

import json
import subprocess
import time

import pytest

from tests.cluster.conftest import PROGRAM

MOST_S = 180


@pytest.fixture
def rates(cluster):
    """An experiment of a program that is faster with more workers."""
    return cluster.experiment(
        "rates",
        parameters={**PROGRAM, "command": 'echo "rate: {{ workers }}.0$RANDOM"', "cpus_per_task": 2},
        matrix={"workers": [1, 4]},
        user_parameters=["workers"],
        metrics={"rate": {"regex": r"rate: ([\d.]+)", "unit": "it/s"}},
        measure={"repetitions": 3},
        slurm={"time": "00:05:00"},
    )


def until(cluster, words: str) -> str:
    """What status says of the search as soon as it says this."""
    deadline = time.monotonic() + MOST_S
    while time.monotonic() < deadline:
        told = cluster("status", "found").stdout
        if words in told:
            return told
        time.sleep(0.3)
    raise AssertionError(told)


def ended(slurm) -> list[str]:
    """Return all jobs in the accounting, as soon as the search is among them and no job is active."""
    question = ("sacct", "--noheader", "--allocations", "--parsable2", "--starttime=now-1hour")
    deadline = time.monotonic() + MOST_S
    while time.monotonic() < deadline:
        jobs = slurm(*question, "--format=JobName,State,AllocCPUS").splitlines()
        known = any(job.startswith("found.search.") for job in jobs)
        if known and not any("|RUNNING|" in job or "|PENDING|" in job for job in jobs):
            return jobs
        time.sleep(0.3)
    raise AssertionError(jobs)


@pytest.mark.versions("tune")
def test_one_job_searches_all_settings_and_tells_what_it_found(cluster, rates, slurm):
    submitted = cluster("tune", rates, "--metric", "rate", "--name", "found")
    assert "runs the search" in submitted.stderr
    assert "see: hpcbench status found" in submitted.stderr
    watched = cluster("status", "found", "--watch")
    assert "found: ended; for its result: hpcbench resume found" in watched.stderr
    told = cluster("resume", "found")
    assert "best       workers=4: 4." in told.stdout
    (job,) = {line.split("|")[0] for line in ended(slurm) if line.startswith("found.search.")}
    assert f"{job}|COMPLETED|2" in ended(slurm)
    assert {record["status"] for record in cluster.records()} == {"completed"}


def test_a_search_that_was_cancelled_goes_on_in_another_job(cluster, rates, slurm):
    runs = cluster.workspace / "runs"
    third_waits = f"echo >> {runs}; [ $(wc -l < {runs}) -ne 3 ] || sleep 120"  # until the search is cancelled
    program = third_waits + '; echo "rate: {{ workers }}.0$RANDOM"'
    waiting = ("--set", f"parameters.command='{program}'")
    cluster("tune", rates, "--metric", "rate", "--name", "found", *waiting)
    deadline = time.monotonic() + MOST_S
    while len(cluster.records()) < 2 and time.monotonic() < deadline:
        time.sleep(0.2)
    cluster("cancel", "found")
    until(cluster, "interrupted; to continue")
    before = len([record for record in cluster.records() if record["status"] == "completed"])
    awaited = cluster("resume", "found", "--wait")
    assert "runs the search" in awaited.stderr
    assert "best       workers=4: 4." in awaited.stdout
    completed = [record for record in cluster.records() if record["status"] == "completed"]
    assert len({(record["case_id"], record["run"]) for record in completed}) == len(completed) >= before


def test_all_cases_of_a_search_are_run_as_jobs_of_the_cluster(cluster, rates):
    held = ("--set", "slurm.options={hold: true}")
    cluster("tune", rates, "--metric", "rate", "--name", "found", *held)
    cluster("cancel", "found")
    cluster("sweep", "--from", "found", "--name", "whole", "--render-only")
    described = json.loads((cluster.workspace / "jobs" / "whole" / "sweep.json").read_text())
    assert described["site"]["scheduler"] == "slurm"
    assert described["tuning"] is None


def test_a_job_that_waits_is_not_submitted_twice(cluster, rates):
    cluster("tune", rates, "--metric", "rate", "--name", "found", "--set", "slurm.options={hold: true}")
    assert "pending" in cluster("status", "found").stdout
    assert "runs the search, and is pending: " in cluster("resume", "found").stderr
    cluster("cancel", "found")


def test_a_job_that_never_starts_is_not_waited_for(cluster, rates):
    held = ("--set", "slurm.options={hold: true}")
    done = cluster("tune", rates, "--metric", "rate", "--name", "found", *held, "--wait", expect=1)
    assert "(JobHeldUser)" in done.stderr
    assert "(JobHeldUser)" in cluster("status", "found", "--watch", expect=1).stderr
    cluster("cancel", "found")
    assert "interrupted; to continue" in cluster("status", "found", "--watch", expect=1).stderr


def test_a_bare_sbatch_of_its_script_searches(cluster, rates):
    later = ("--set", "slurm.options={begin: now+1hour}")
    cluster("tune", rates, "--metric", "rate", "--name", "found", *later)
    cluster("cancel", "found")
    script = cluster.workspace / "jobs" / "found" / "search.sh"
    subprocess.run(["sbatch", "--begin=now", script], env=cluster.variables, check=True, cwd="/", capture_output=True)
    until(cluster, "ended; for its result: hpcbench resume found")
    assert "best       workers=4: 4." in cluster("resume", "found").stdout


def test_cases_of_several_nodes_are_refused(cluster, rates):
    done = cluster("tune", rates, "--metric", "rate", "--set", "nodes=2", expect=2)
    assert "a search uses one node" in done.stderr
    assert not list(cluster.workspace.glob("jobs/*/sweep.json"))
