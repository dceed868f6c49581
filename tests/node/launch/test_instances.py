"""Instances in the place of one task, through the real zipapp; a few lines of Python stand in for the framework."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FakeTorch = Callable[[str], dict[str, str]]
CPUS = sorted(os.sched_getaffinity(0))
pytestmark = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs; not run: instances on CPUs of their own")
TELL = """
import os
raise RuntimeError("%s of %s on %s" % (
    os.environ["HPCBENCH_RANK"], os.environ["HPCBENCH_RANKS"], sorted(os.sched_getaffinity(0))))
"""
# Rank 1 dies once rank 0 has begun; rank 0 would go on for ever.
ONE_DIES = """
import os, pathlib, signal, time
begun = pathlib.Path({begun!r})
if os.environ["HPCBENCH_RANK"] == "0":
    begun.write_text("")
    time.sleep(300)
while not begun.exists():
    time.sleep(0.02)
os.kill(os.getpid(), signal.SIGSEGV)
"""


def told(folder: Any) -> list[str]:
    """What came out of each instance that was not ended because another had failed."""
    left = [folder.rank_file(rank) for rank in (0, 1)]
    return [rank["facts"]["error"]["message"] for rank in left if rank["facts"]]


@pytest.mark.parametrize("launcher", ["srun", "the local launcher"])
def test_each_instance_is_a_rank_on_cpus_of_its_own_whoever_started_the_task(
    make_folder: Callable[..., Any], fake_torch: FakeTorch, launcher: str
) -> None:
    """What stands in for srun are its variables."""
    folder = make_folder(instances=2, cpus_per_task=2)
    environment = fake_torch(TELL)
    if launcher == "srun":
        slurm = {"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_JOB_ID": "7", "SLURM_STEP_NUM_TASKS": "1"}
        status = folder.rank({**environment, **slurm}).returncode
    else:
        import subprocess

        words = folder.spawn_words(1, 2, folder.words("rank"))
        status = subprocess.run(words, env=environment, capture_output=True, timeout=60, check=False).returncode
    assert status == 1
    said = told(folder)
    assert said
    assert set(said) <= {f"{rank} of 2 on [{cpu}]" for rank, cpu in enumerate(CPUS[:2])}
    record = folder.record(status, environment)
    assert (record["status"], len(record["ranks"])) == ("failed", 2)


def test_one_that_dies_ends_the_others_and_is_the_cause(
    tmp_path: Path, make_folder: Callable[..., Any], fake_torch: FakeTorch
) -> None:
    folder = make_folder(instances=2, cpus_per_task=2)
    environment = fake_torch(ONE_DIES.format(begun=str(tmp_path / "begun")))
    begun = time.monotonic()
    done = folder.rank(environment)
    assert done.returncode == 128 + 11
    assert time.monotonic() - begun < 60, "or the other would have gone on"
    record = folder.record(done.returncode, environment)
    assert (record["status"], record["error"]["rank"], record["error"]["signal"]) == ("failed", 1, "SIGSEGV")


def test_a_repetition_of_which_an_instance_left_nothing_has_failed(
    make_folder: Callable[..., Any], clean_environment: dict[str, str]
) -> None:
    folder = make_folder(instances=2, cpus_per_task=2)
    record = folder.record(9, clean_environment)
    assert record["error"]["message"].startswith("2 of 2 tasks left no result")


def test_a_machine_that_is_too_small_says_so_before_it_says_anything_else(
    make_folder: Callable[..., Any], clean_environment: dict[str, str]
) -> None:
    folder = make_folder(instances=2, cpus_per_task=4096, intra_op_threads=2048)
    environment = {**clean_environment, "HPCBENCH_RANK": "0", "HPCBENCH_RANKS": "1", "HPCBENCH_LAUNCHER": "1"}
    record = folder.record(folder.rank(environment).returncode, clean_environment)
    assert record["status"] == "unsupported"
    advice = r"requests 4096 CPUs, .*: request fewer \(--set cpus_per_task=(\d+) --set intra_op_threads=\1\)"
    assert re.search(advice, record["error"]["message"])


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, CPUS),
        ({"affinity": "compact", "intra_op_threads": 1}, CPUS[:1]),
        ({"affinity": "compact", "intra_op_threads": 1, "inter_op_threads": 2, "cpus_per_task": 2}, CPUS[:2]),
    ],
)
def test_the_affinity_stands_before_the_framework_is_imported(
    make_folder: Callable[..., Any], fake_torch: FakeTorch, parameters: dict[str, Any], expected: list[int]
) -> None:
    folder = make_folder(**parameters)
    folder.rank(fake_torch("import os\nraise RuntimeError(sorted(os.sched_getaffinity(0)))\n"))
    assert folder.rank_file()["facts"]["error"]["message"] == str(expected)


def test_threads_beyond_the_cpus_that_an_affinity_leaves_are_unsupported(
    make_folder: Callable[..., Any], clean_environment: dict[str, str]
) -> None:
    folder = make_folder(affinity="cores", intra_op_threads=len(CPUS) + 1, cpus_per_task=len(CPUS) + 1)
    record = folder.record(folder.rank(clean_environment).returncode, clean_environment)
    assert record["status"] == "unsupported"
    assert f"{len(CPUS) + 1} threads" in record["error"]["message"]
