from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.slurm.group_limits import with_never
from hpcbench.slurm.job_entry import JobEntry
from hpcbench.slurm.reasons import hint

Fake = Callable[..., Path]
JOB = "JobId=7 Account=lab QOS={qos} JobState=PENDING Partition=cpu {tres} Command=/x.sh TRES=cpu=999"
CONFIG = {"ClusterName": "here"}


def never(fake_commands: Fake, reason: str, tres: str, qos: str = "normal", state: str = "PENDING") -> str:
    fake_commands(
        scontrol=f"""echo Welcome
case "$*" in
*partition*) echo 'PartitionName=cpu AllowAccounts=ALL QoS=part Nodes=n1';;
*) echo '{JOB.format(tres=tres, qos=qos)}';;
esac""",
        sacctmgr="""case "$*" in
*qos*grptres*) echo 'normal|cpu=4,mem=8G,gres/gpu=1'; echo 'long|'; echo 'part|node=2,gres/gpu=2';;
*qos*maxtrespu*) echo 'normal|cpu=2';;
*qos*maxtrespa*) echo 'normal|cpu=3,mem=2G';;
*) echo 'root|||cpu=64'; echo ' lab||root|gres/gpu=1'; echo '  lab|me|lab|cpu=1';;
esac""",
    )
    return with_never({("7", 0): JobEntry(state, reason)}, CONFIG, None)["7", 0].never


@pytest.mark.parametrize(
    ("reason", "tres", "words"),
    [
        ("QOSGrpCpuLimit", "TRES=cpu=5,mem=1G,node=1", "it requests cpu=5, but QOS normal allows cpu=4"),
        ("QOSGrpCpuLimit", "ReqTRES=cpu=5,mem=1G AllocTRES=(null)", "it requests cpu=5"),
        ("QOSGrpMemLimit", "TRES=cpu=1,mem=8193M,node=1", "it requests mem=8193, but QOS normal allows mem=8192"),
        ("QOSGrpNodeLimit", "TRES=cpu=3,mem=1G,node=3", "it requests node=3, but QOS part allows node=2"),
        ("QOSMaxCpuPerUserLimit", "TRES=cpu=3", "but QOS normal allows cpu=2 for all of your jobs together"),
        ("MaxCpuPerAccount", "TRES=cpu=4", "but QOS normal allows cpu=3 for all jobs of an account together"),
        ("QOSMaxMemoryPerAccount", "TRES=cpu=1,mem=4G", "it requests mem=4096, but QOS normal allows mem=2048"),
        ("AssocGrpGRES", "TRES=cpu=1,gres/gpu=2", "it requests gres/gpu=2, but account lab allows gres/gpu=1"),
        ("AssocGrpCPULimit", "TRES=cpu=65", "it requests cpu=65, but account root allows cpu=64"),
    ],
)
def test_a_request_above_a_group_limit_never_starts_with_fake_slurm_commands(
    fake_commands: Fake, reason: str, tres: str, words: str
) -> None:
    found = never(fake_commands, reason, tres)
    assert words in found
    entry = JobEntry("PENDING", reason, never=found)
    assert entry.waits_for_ever
    assert entry.why_pending == f"it will not start: {found} ({reason})"
    assert "others" not in hint(entry.why_pending)


@pytest.mark.parametrize(
    ("reason", "tres"),
    [
        ("QOSGrpCpuLimit", "TRES=cpu=4,mem=8G,node=2"),  # it fits when others end
        ("AssocGrpCPULimit", "TRES=cpu=64"),
        ("QOSMaxCpuPerUserLimit", "TRES=cpu=2"),
        ("QOSGrpGRES", "TRES=cpu=1,gres/gpu=2"),  # the limit of the partition's QOS overrides that of the job's QOS
        ("QOSGrpCpuLimit", ""),
        ("Priority", "TRES=cpu=5"),
        ("QOSGrpCPUMinutesLimit", "TRES=cpu=5"),  # a budget, of which earlier jobs used a part
    ],
)
def test_any_other_request_may_start_with_fake_slurm_commands(fake_commands: Fake, reason: str, tres: str) -> None:
    assert never(fake_commands, reason, tres) == ""


def test_a_job_that_runs_is_not_asked_for_with_fake_slurm_commands(fake_commands: Fake) -> None:
    assert never(fake_commands, "QOSGrpCpuLimit", "TRES=cpu=5", state="RUNNING") == ""


def test_the_elements_of_an_array_are_one_query_with_fake_slurm_commands(fake_commands: Fake) -> None:
    entries = {("7", index): JobEntry("PENDING", "QOSGrpCpuLimit") for index in range(50)}
    folder = fake_commands(
        scontrol=f"echo '{JOB.format(tres='TRES=cpu=5', qos='normal')}'", sacctmgr="echo 'normal|cpu=4'"
    )
    assert all(entry.never for entry in with_never(entries, CONFIG, None).values())
    assert (folder / "scontrol.called").read_text().count("job\n") == 1
