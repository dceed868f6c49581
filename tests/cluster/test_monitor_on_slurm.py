"""The monitor beside a run on a real Slurm. Its nodes are all this machine, whose CPUs others take meanwhile."""

from __future__ import annotations

import gzip

import pytest

from tests.cluster.conftest import PROGRAM

SECONDS = "while [ $SECONDS -lt 3 ]; do :; done"  # of a shell that computes
TWO_NODES = {**PROGRAM, "command": SECONDS, "nodes": 2}


@pytest.mark.usefixtures("somebody_else")
def test_both_nodes_are_watched_and_what_has_interference_is_measured_again_in_the_same_job(cluster, slurm, wait_until):
    """The job asks for memory: neither step may wait for that of the other."""
    experiment = cluster.experiment(parameters=TWO_NODES, measure={"retries": 1}, slurm={"mem": "500M"})
    cluster("sweep", experiment)
    wait_until(lambda: len(cluster.records()) == 2)
    records = cluster.records()
    assert [record["attempt"] for record in records] == [1, 2]
    assert len({record["slurm"]["job_id"] for record in records}) == 1
    for record in records:
        assert record["interference"]["verdict"] == "interference"
        assert record["interference"]["reason"] is None, "no node was without a monitor"
        assert "cpu" in record["interference"]["found"][0]["causes"]
        assert len(record["monitors"]) == 2
        assert all(max(node["usage"]["own.processes"]) >= 1 for node in record["monitors"]), "they were found"
    job = records[0]["slurm"]["array_job_id"]
    wait_until(lambda: not slurm("squeue", "--noheader", f"--jobs={job}"))
    (kept,) = cluster.workspace.glob("results/*/timelines/*/*.gz")
    headers = [line for line in gzip.decompress(kept.read_bytes()).decode().splitlines() if '"sources"' in line]
    assert len(headers) == 4, "of two attempts on two nodes, each put there after its record"
    steps = slurm("sacct", "-j", job, "--noheader", "--parsable2", "--format=JobID,State,AllocNodes").splitlines()
    ended = [line.split("|")[1:] for line in steps if line.split("|")[0].rpartition(".")[2].isdigit()]
    assert ended == [["COMPLETED", "2"]] * 3, "monitors for the job, and the tasks twice: none was killed with its job"


@pytest.mark.usefixtures("somebody_else")
def test_nothing_is_begun_on_nodes_that_must_be_quiet_and_are_not_and_resume_tries_again(cluster, wait_until):
    cluster("sweep", cluster.experiment(parameters=TWO_NODES, measure={"idle_node": "require"}))
    wait_until(lambda: cluster.records())
    cluster("resume", "latest")
    wait_until(lambda: len(cluster.records()) == 2)
    first, second = cluster.records()
    for record in (first, second):
        assert record["status"] == "skipped"
        assert "CPUs are busy" in record["error"]["message"]
    assert first["slurm"]["array_job_id"] != second["slurm"]["array_job_id"]
