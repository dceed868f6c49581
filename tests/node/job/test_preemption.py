"""What Slurm says of the job that something runs in; scontrol is a fake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.node.job import preemption

TOLD = "JobId=7 ArrayJobId=7 JobState=RUNNING PreemptEligibleTime=2026-11-22T09:17:13 PreemptTime="


@pytest.mark.parametrize(
    ("scontrol", "preempted"),
    [
        (f"echo '{TOLD}2026-11-22T09:17:15'", True),
        (f"echo '{TOLD}None'", False),
        (f"echo '{TOLD}None'; echo '{TOLD}2026-11-22T09:17:15' | sed s/JobId=7/JobId=71/", False),
        ("echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1", False),
        (None, False),
    ],
)
def test_a_job_that_has_to_give_way_is_known_from_a_fake_scontrol(
    fake_commands: Callable[..., Path], scontrol: str | None, preempted: bool
) -> None:
    folder = fake_commands(**({"scontrol": scontrol} if scontrol else {}))
    assert preemption.is_preempted({"SLURM_JOB_ID": "7"}) is preempted
    if scontrol:
        assert (folder / "scontrol.called").read_text().split() == ["--oneliner", "show", "job", "7"]


def test_nobody_is_asked_outside_of_a_job(fake_commands: Callable[..., Path]) -> None:
    folder = fake_commands(scontrol=f"echo '{TOLD}2026-11-22T09:17:15'")
    assert not preemption.is_preempted({})
    assert not (folder / "scontrol.called").exists()
