from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.config.site import Site
from hpcbench.errors import UserError
from hpcbench.slurm.submit_limits import Capacity, exceeded_limit, read_capacity

SITE = Site(name="big", scheduler="slurm")
POLICY = "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy"
POLICY += " (job submit limit, user's size and/or time limits)"
CONFIG = "echo 'MaxJobCount = 100'"
SQUEUE = f"for state in RUNNING PENDING COMPLETING CANCELLED COMPLETED; do echo '{os.getuid()}|'$state'|7'; done; "
SQUEUE += "for each in 1 2 3 4; do echo '123456|PENDING|8'; done"


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        (f"sbatch: error: {reason}\n{POLICY}", f"{limit} ({reason})")
        for reason, limit in {
            "AssocGrpSubmitJobsLimit": "the account's limit on jobs in the queue is reached",
            "AssocMaxSubmitJobLimit": "your limit on jobs in the queue in this account is reached",
            "MaxSubmitJobsPerAccount": "the account's limit on jobs in the queue in this QOS is reached",
            "QOSGrpSubmitJobsLimit": "the QOS's limit on jobs in the queue is reached",
            "QOSMaxSubmitJobPerUserLimit": "your limit on jobs in the queue in this QOS is reached",
        }.items()
    ]
    + [
        (message, "the cluster's job limit is reached (MaxJobCount)")
        for message in (
            (
                "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n"
                "sbatch: error: Batch job submission failed: Resource temporarily unavailable"
            ),
            "sbatch: error: Slurm job queue full, sleeping and retrying",
            "sbatch: error: Batch job submission failed: MaxJobCount limit reached",
        )
    ],
)
def test_a_refusal_for_too_many_jobs_names_its_limit(message: str, limit: str) -> None:
    assert exceeded_limit(message) == limit
    assert exceeded_limit(" ".join(message.split())) == limit


@pytest.mark.parametrize(
    "message",
    [
        POLICY,
        f"sbatch: error: QOSMaxWallDurationPerJobLimit\n{POLICY}",
        f"sbatch: error: AssocMaxCpuPerJobLimit\n{POLICY}",
        "sbatch: error: Batch job submission failed: Invalid qos specification",
        "sbatch: error: Batch job submission failed: Invalid job array specification",
        "sbatch: error: fork: Resource temporarily unavailable",
        "",
    ],
)
def test_a_refusal_for_another_reason_has_no_limit(message: str) -> None:
    assert exceeded_limit(message) == ""


def test_the_cluster_counts_all_jobs_and_the_site_own_queued_ones_with_fake_slurm_commands(
    fake_commands: Callable[..., Path],
) -> None:
    """Slurm before 25.05 refuses the job that makes the count equal to MaxJobCount, so one less fits."""
    folder = fake_commands(squeue=SQUEUE, scontrol=CONFIG)
    assert read_capacity(SITE) == Capacity(90, "MaxJobCount of the cluster: 9 of 99 jobs")
    site = Site.model_validate({"name": "big", "scheduler": "slurm", "limits": {"max_submit_jobs": 10}})
    assert read_capacity(site) == Capacity(7, "limits.max_submit_jobs of the site file: 3 of 10 jobs")
    arguments = (folder / "squeue.called").read_text().splitlines()
    assert {"--array", "--states=all"} <= set(arguments)
    assert not any(each.startswith(("--me", "--user")) for each in arguments)


def test_a_limit_that_is_exceeded_already_leaves_no_capacity_with_fake_slurm_commands(
    fake_commands: Callable[..., Path],
) -> None:
    fake_commands(squeue=SQUEUE, scontrol="echo 'MaxJobCount = 5'")
    assert read_capacity(SITE) == Capacity(0, "MaxJobCount of the cluster: 9 of 4 jobs")


def test_a_failed_squeue_is_not_taken_for_an_empty_queue_with_fake_slurm_commands(
    fake_commands: Callable[..., Path],
) -> None:
    fake_commands(squeue="exit 1", scontrol=CONFIG)
    with pytest.raises(UserError, match="squeue failed"):
        read_capacity(SITE)


def test_a_cluster_that_hides_its_configuration_has_no_known_limit_with_fake_slurm_commands(
    fake_commands: Callable[..., Path],
) -> None:
    fake_commands(squeue=SQUEUE, scontrol="exit 1")
    assert read_capacity(SITE) == Capacity(None, "")
    assert read_capacity(SITE).less(5).at_most(10**6) == 10**6
