"""Why Slurm does not start a job yet: each reason that a version of it knows has words and a hint."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcbench.slurm.reasons import explain, hint
from hpcbench.slurm.states import in_words, never_starts

# Of job_state_reason.c of Slurm 25.11 and of job_reason_string() of 20.11 and 22.05, all together, but for None.
REASONS = Path(__file__).with_name("slurm-reasons.txt").read_text().split()


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_of_slurm_has_a_meaning_and_a_hint(reason: str) -> None:
    known = explain(reason)
    assert known is not None
    assert known.means
    assert known.to_do
    assert in_words(f"({reason})") == f"{known.means} ({reason})"
    assert hint(reason) == hint(f"({reason})") == hint(in_words(reason)) == known.to_do


@pytest.mark.parametrize(
    ("reason", "means"),
    [
        ("AssocGrpCpuLimit", "the account's limit on CPUs is reached"),
        ("AssocGrpCPUMinutesLimit", "the account's budget of CPU minutes is used up"),
        ("AssocGrpCPURunMinutesLimit", "the account's limit on CPU minutes of running jobs is reached"),
        ("AssocMaxJobsLimit", "your limit on running jobs in this account is reached"),
        ("QOSGrpGRES", "the QOS's limit on GPUs is reached"),
        ("QOSGrpWallLimit", "the QOS's budget of wall time is used up"),
        ("QOSMaxMemoryPerNode", "it exceeds the QOS's limit on memory per node: it will not start"),
        ("QOSMaxNodePerUserLimit", "your limit on nodes in this QOS is reached"),
        ("QOSMaxSubmitJobPerUserLimit", "your limit on jobs in the queue in this QOS is reached"),
        ("QOSMinCpuNotSatisfied", "it requests fewer CPUs than the QOS requires: it will not start"),
        (
            "AssocMaxWallDurationPerJobLimit",
            "it exceeds the account's limit on wall time per job: it will not start",
        ),
        ("MaxGRESPerAccount", "the account's limit on GPUs in this QOS is reached"),
        ("MaxCpuRunMinsPerUser", "your limit on CPU minutes of running jobs in this QOS is reached"),
        ("launch failed requeued held", "it could not be launched, and is held"),
        (
            "(Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions)",
            "nodes it needs are down, drained or reserved for other partitions",
        ),
    ],
)
def test_a_limit_is_told_by_its_name_and_a_message_by_its_beginning(reason: str, means: str) -> None:
    known = explain(reason)
    assert known is not None
    assert known.means == means
    assert hint(in_words(reason)) == known.to_do


@pytest.mark.parametrize("reason", ["", "None", "BrandNewReason", "AssocGrpFrogs", "it broke (badly)"])
def test_of_what_nobody_heard_of_nothing_is_said(reason: str) -> None:
    assert hint(reason) == ""


@pytest.mark.parametrize(
    ("reason", "never"),
    [
        ("JobHeldUser", True),
        ("launch failed requeued held", True),
        ("InvalidQOS", True),
        ("QOSMaxWallDurationPerJobLimit", True),
        ("QOSMinCpuNotSatisfied", True),
        ("QOSMaxJobsPerUserLimit", False),
        ("AssocGrpCPUMinutesLimit", False),
        ("QOSJobLimit", False),
        ("(ReqNodeNotAvail, UnavailableNodes:n1)", False),
        ("BrandNewReason", False),
    ],
)
def test_what_only_somebody_can_change_is_told_from_what_passes(reason: str, never: bool) -> None:
    assert never_starts(reason) is never
