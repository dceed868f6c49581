"""Which refusals of sbatch the same job would get again."""

from __future__ import annotations

import pytest

from hpcbench.slurm.refusals import is_of_request


@pytest.mark.parametrize(
    "message",
    [
        "Invalid account or account/partition combination specified",
        "invalid partition specified: typo",
        "Invalid qos specification",
        "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
        "Requested time limit is invalid (missing or exceeds some limit)",
        "Requested node configuration is not available",
        "CPU count per node can not be satisfied",
        "More processors requested than permitted",
        "Access denied to requested reservation",
    ],
)
def test_a_request_that_slurm_does_not_grant_is_refused_again(message: str) -> None:
    assert is_of_request(f"Batch job submission failed: {message}")


@pytest.mark.parametrize(
    "message",
    [
        "Invalid authentication credential",
        "Invalid job credential",
        "Unspecified error",
        "Slurm backup controller in standby mode",
        "Required partition not available (inactive or drained)",
        "I/O error writing script/environment to file",
        "Requested reservation not in service yet",
        "AssocGrpCPUMinutesLimit Job violates accounting/QOS policy",
    ],
)
def test_after_other_refusals_the_same_job_may_be_accepted(message: str) -> None:
    assert not is_of_request(f"Batch job submission failed: {message}")
