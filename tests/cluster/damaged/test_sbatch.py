"""An sbatch that fails, hangs, or says something first: a script around the real one."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.cluster.conftest import PROGRAM


@pytest.fixture
def sbatch(cluster, tmp_path):
    """Put a script in the place of sbatch; it may call the real one by $REAL."""

    def replaced(text):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        # Not looked up before: the cluster may have installed it just now.
        (folder / "sbatch").write_text(f"#!/bin/bash\nREAL={shutil.which('sbatch')}\n{text}\n")
        (folder / "sbatch").chmod(0o755)
        return {"PATH": f"{folder}:{os.environ['PATH']}"}

    return replaced


def small(cluster):
    return cluster.experiment(parameters=PROGRAM, matrix={"seed": [1, 2]})


def test_what_sbatch_says_before_its_answer_does_no_harm(cluster, sbatch):
    talks = sbatch('echo "Welcome! 3 days are left."; echo "lua: remember --account" >&2; exec $REAL "$@"')
    cluster("sweep", small(cluster), "--wait", env=talks)
    assert cluster.states() == {"completed": 2}


def test_an_sbatch_that_fails_leaves_nothing_behind_and_resume_submits(cluster, sbatch):
    words = "sbatch: error: Batch job submission failed: Requested node configuration is not available"
    fails = sbatch(f'echo "{words}" >&2; exit 1')
    said = cluster("sweep", small(cluster), env=fails, expect=2).stderr
    assert "Requested node configuration is not available" in said
    assert cluster.states() == {"planned": 2}
    cluster("resume", "latest", "--wait")
    assert [record["status"] for record in cluster.records()] == ["completed"] * 2


@pytest.mark.versions("submission")
def test_an_sbatch_that_loses_the_answer_is_asked_about_and_nothing_is_submitted_twice(cluster, sbatch, slurm):
    words = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"
    loses = sbatch(f'$REAL "$@" > /dev/null; echo "{words}" >&2; exit 1')
    cluster("sweep", small(cluster), "--name", "lost-answer", env=loses, expect=2)
    cluster("resume", "latest", "--wait", expect=None)
    assert cluster.states() == {"completed": 2}
    assert len(cluster.records()) == 2
    names = slurm("squeue", "--noheader", "--states=all", "--format=%j").splitlines()
    assert len({name for name in names if name.startswith("lost-answer.")}) == 1


@pytest.mark.soak
def test_an_sbatch_that_hangs_is_ended_after_a_minute_and_asked_about(cluster, sbatch):
    hangs = sbatch("exec sleep 1000")
    said = cluster("sweep", small(cluster), env=hangs, expect=2).stderr
    assert "sbatch did not respond" in said
    cluster("resume", "latest", "--wait")
    assert cluster.states() == {"completed": 2}
    assert len(cluster.records()) == 2
