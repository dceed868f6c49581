"""Two real clusters with one slurmdbd, so that -M reaches the other cluster."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cluster.conftest import PROGRAM

CASES = 3


@pytest.mark.long
@pytest.mark.usefixtures("other_cluster")
def test_a_job_of_the_other_cluster_is_seen_only_with_m(slurm, wait_until):
    job, name = slurm("sbatch", "-M", "other", "--parsable", "--output=/dev/null", "--wrap=true").strip().split(";")
    assert name == "other"
    wait_until(lambda: "COMPLETED" in slurm("sacct", "-M", "other", "-nPX", "-j", job, "--format=State"))
    assert job in slurm("squeue", "-M", "other", "--states=all", "--noheader", "--format=%A")
    assert job not in slurm("squeue", "--states=all", "--noheader", "--format=%A")
    assert slurm("sacct", "-nPX", "-j", job, "--format=State") == ""


@pytest.fixture
def twin(slurm, other_cluster):
    """A held array of this cluster whose first element was cancelled; the next array of the other has the same ID."""
    asked = ("--parsable", "--hold", f"--array=0-{CASES - 1}", "--output=/dev/null")
    array = slurm("sbatch", *asked, "--wrap=true").strip()
    slurm("scancel", f"{array}_0")
    first = int(array) - (slurm("sinfo", "--version").split()[1] < "21")  # Slurm 20.11 begins after FirstJobId
    file = Path(other_cluster["CLUSTER_DIR"]) / "slurm.conf"
    file.write_text(re.sub("(?m)^FirstJobId=.*", f"FirstJobId={first}", file.read_text()))
    slurm("scontrol", "-M", "other", "reconfigure")
    yield array
    slurm("scancel", array)


@pytest.mark.versions("several clusters")
def test_a_sweep_is_submitted_followed_cancelled_and_resumed_on_the_other_cluster(cluster, slurm, twin, wait_until):
    site = cluster.site("far", scheduler="slurm", cluster="other", environments={})
    parameters = {**PROGRAM, "command": "until [ -e {{ n }} ]; do sleep 0.1; done"}
    experiment = cluster.experiment(
        parameters=parameters,
        user_parameters=["n"],
        matrix={"n": [*range(CASES)]},
        slurm={"mem": "200M", "max_running": 2},
    )
    cluster("sweep", experiment, "--site", site)
    wait_until(lambda: cluster.states() == {"running": 2, "pending": 1})
    assert "0 runs to resume" in cluster("resume", "latest").stderr

    (cluster.workspace / "0").touch()
    wait_until(lambda: cluster.states() == {"completed": 1, "running": 2})
    assert f"cancelled {CASES - 1} runs" in cluster("cancel", "latest").stderr
    wait_until(lambda: cluster.states() == {"completed": 1, "cancelled": 2})

    for n in range(1, CASES):
        (cluster.workspace / str(n)).touch()
    cluster("resume", "latest", "--wait")
    records = cluster.records()
    assert sorted(record["status"] for record in records) == ["cancelled"] * 2 + ["completed"] * CASES
    completed = [record for record in records if record["status"] == "completed"]
    assert {record["slurm"]["cluster_name"] for record in completed} == {"other"}
    assert twin in {record["slurm"]["array_job_id"] for record in records}
    here = slurm("squeue", "--noheader", "--array", f"--jobs={twin}", "--format=%K|%T").split()
    assert here == ["1|PENDING", "2|PENDING"]
