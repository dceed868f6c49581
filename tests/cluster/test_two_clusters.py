"""Two real clusters with one slurmdbd, so that -M reaches the other cluster."""

from __future__ import annotations

import pytest


@pytest.mark.long
@pytest.mark.usefixtures("other_cluster")
def test_a_job_of_the_other_cluster_is_seen_only_with_m(slurm, wait_until):
    job, name = slurm("sbatch", "-M", "other", "--parsable", "--output=/dev/null", "--wrap=true").strip().split(";")
    assert name == "other"
    wait_until(lambda: "COMPLETED" in slurm("sacct", "-M", "other", "-nPX", "-j", job, "--format=State"))
    assert job in slurm("squeue", "-M", "other", "--states=all", "--noheader", "--format=%A")
    assert job not in slurm("squeue", "--states=all", "--noheader", "--format=%A")
    assert slurm("sacct", "-nPX", "-j", job, "--format=State") == ""
