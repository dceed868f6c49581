"""Parsing what Slurm's commands say; assoc_mgr.txt is the real answer of a Slurm 22.05."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.slurm.accounting import Association, Qos
from hpcbench.slurm.accounting_query import (
    ask_accounting,
    associations_in,
    default_qos_in,
    full_qos_in,
    partitions_in,
    qos_in,
)

CACHED = (Path(__file__).parent / "assoc_mgr.txt").read_text().splitlines()
PARTITIONS = [
    (
        "PartitionName=cpu AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES QoS=N/A "
        "DefaultTime=NONE Hidden=NO MaxTime=1-00:00:00 Nodes=n[1-4] TRES=cpu=8,mem=32000M,node=4,billing=8,gres/gpu=4"
    ),
    (
        "PartitionName=debug AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=NO QoS=few "
        "DefaultTime=NONE Hidden=NO MaxTime=00:05:00 Nodes=n[1-4] TRES=cpu=8,mem=32000M,node=4,billing=8,gres/gpu=4"
    ),
]
# As src/scontrol/info_assoc_mgr.c of Slurm 25.05 prints them: names beside uids, more fields, a comment at the end.
NEWER = [
    (
        "ClusterName=local Account=lab UserName=alice(1000) Partition= Priority=0 ID=6 ParentAccount= "
        "Lineage=/lab/0-alice/ DefAssoc=Yes GrpJobs=N(0) GrpJobsAccrue=N(0) GrpSubmitJobs=N(11) GrpWall=N(0.00) "
        "MaxJobs= MaxJobsAccrue= MaxSubmitJobs=12(11) MaxWallPJ= MinPrioThresh= Comment=was MaxSubmitJobs=50(1) before"
    ),
    (
        "QOS=few(2) UsageRaw=0.000000 GrpJobs=N(0) GrpJobsAccrue=N(0) GrpSubmitJobs=N(8) GrpWall=N(0.00) "
        "Account Limits= lab={MaxJobsPA=N(0) MaxJobsAccruePA=N(0) MaxSubmitJobsPA=N(8) MaxTRESPA=cpu=N(0) "
        "MaxTRESRunMinsPA=cpu=N(0)} User Limits= bob(1001)={MaxJobsPU=N(0) MaxJobsAccruePU=N(0) MaxSubmitJobsPU=5(5) "
        "MaxTRESPU=cpu=N(0) MaxTRESRunMinsPU=cpu=N(0)} alice(1000)={MaxJobsPU=N(0) MaxJobsAccruePU=N(0) "
        "MaxSubmitJobsPU=5(3) MaxTRESPU=cpu=N(0) MaxTRESRunMinsPU=cpu=N(0)}"
    ),
]


def test_associations_are_read_with_their_limits_and_what_counts() -> None:
    associations, used = associations_in(CACHED)
    assert associations == [
        Association("root"),
        Association("root", "root", default=True),
        Association("dept", parent="root", max_submit=12, group_submit=30),
        Association("lab", parent="dept", max_submit=12, group_submit=20),
        Association("lab", "root", "gpu", max_submit=12),
        Association("lab", "root", max_submit=12),
        Association("other", parent="root", max_submit=7),
        Association("other", "root", max_submit=7),
    ]
    assert [used[each.counter] for each in associations] == [12, 3, 9, 9, 1, 2, 0, 0]


def test_qos_are_read_with_what_counts_for_everybody_an_account_and_this_user() -> None:
    qos, used = qos_in(CACHED, 0)
    assert qos == {
        "normal": Qos("normal"),
        "few": Qos("few", per_user=5),
        "both": Qos("both", group_submit=6, per_account=4),
    }
    counts = [[used[each.counter], used[each.user_counter]] for each in qos.values()]
    assert counts == [[7, 1], [3, 3], [2, 2]]
    assert used[qos["normal"].account_counter("lab")] == 7
    assert qos_in(CACHED, 1234)[1][qos["normal"].user_counter] == 0


def test_newer_versions_are_read_too() -> None:
    (association,), used = associations_in(NEWER)
    assert association == Association("lab", "alice", default=True, max_submit=12)
    assert used[association.counter] == 11
    qos, counts = qos_in(NEWER, 1000)
    assert qos == {"few": Qos("few", per_user=5)}
    assert counts == {("qos", "few"): 8, ("qos of user", "few"): 3, ("qos of account", "few", "lab"): 8}
    assert qos_in(NEWER, 100)[1]["qos of user", "few"] == 0  # which ends like none of them


def test_nothing_is_read_from_an_association_manager_that_is_empty() -> None:
    lines = ["Current Association Manager state", "No associations currently cached in Slurm."]
    assert associations_in(lines) == ([], {})
    assert qos_in(lines, 0) == ({}, {})


def test_qos_of_sacctmgr_have_flags_and_all_limits() -> None:
    lines = ["normal||||", "few|||5|", "both|DenyOnLimit,OverPartQOS|6||4"]
    assert full_qos_in(lines) == {
        "normal": Qos("normal"),
        "few": Qos("few", per_user=5),
        "both": Qos("both", group_submit=6, per_account=4, over_partition=True),
    }


def test_the_default_qos_is_the_only_one_where_none_is_said() -> None:
    lines = ["other||few|few,normal", "lab|gpu||few", "lab|||both,few,normal", "new|||"]
    assert default_qos_in(lines) == {("other", ""): "few", ("lab", "gpu"): "few"}


def test_partitions_have_a_qos_or_none_and_one_is_the_default() -> None:
    assert partitions_in(PARTITIONS) == ({"debug": "few"}, "cpu")


SCONTROL = 'case "$*" in *assoc_mgr*) cat assoc_mgr.txt ;; *) cat partitions.txt ;; esac'
SACCTMGR = 'case "$*" in *assoc*) echo "root|||" ;; *) echo "few|OverPartQOS||9|" ;; esac'


@pytest.fixture
def answers(fake_commands: Callable[..., Path]) -> Callable[..., Path]:
    def answered(**commands: str) -> Path:
        folder = fake_commands(**{"scontrol": SCONTROL, "sacctmgr": SACCTMGR, **commands})
        (folder / "assoc_mgr.txt").write_text("\n".join(CACHED))
        (folder / "partitions.txt").write_text("\n".join(PARTITIONS))
        return folder

    return answered


def test_sacctmgr_knows_better_than_the_controller_with_fake_slurm_commands(answers: Callable[..., Path]) -> None:
    folder = answers()
    accounting, used = ask_accounting("local", "root")
    assert accounting.qos["few"] == Qos("few", per_user=9, over_partition=True)
    assert accounting.qos["both"] == Qos("both", group_submit=6, per_account=4)
    assert used["association", "lab", "", ""] == 9
    assert "cluster=local" in (folder / "sacctmgr.called").read_text().splitlines()
    (standing,) = accounting.standings(SlurmOptions(partition="debug"))
    assert [qos.name for qos in standing.qos] == ["few", "normal"]


@pytest.mark.parametrize("sacctmgr", ["echo 'Connection refused' >&2; exit 1", None])
def test_without_slurmdbd_the_controllers_limits_hold_with_fake_slurm_commands(
    sacctmgr: str | None, answers: Callable[..., Path]
) -> None:
    folder = answers(**({"sacctmgr": sacctmgr} if sacctmgr else {}))
    if sacctmgr is None:
        (folder / "sacctmgr").unlink()
    accounting, used = ask_accounting("local", "root")
    assert accounting.qos["few"] == Qos("few", per_user=5)
    assert used["qos", "few"] == 3
    if sacctmgr:
        assert (folder / "sacctmgr.called").read_text().count("--parsable2") == 1  # one time-out is enough


def test_no_answer_at_all_limits_nothing_with_fake_slurm_commands(fake_commands: Callable[..., Path]) -> None:
    fake_commands(scontrol="exit 1", sacctmgr="exit 1")
    accounting, used = ask_accounting("local", "root")
    assert used == {}
    assert [list(each.caps()) for each in accounting.standings(SlurmOptions())] == [[]]


def test_the_environment_of_the_shell_does_not_change_the_answer_with_fake_slurm_commands(
    answers: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CLUSTERS", "elsewhere")
    answers(scontrol=f'[ -z "$SLURM_CLUSTERS" ] || exit 1\n{SCONTROL}')
    assert ask_accounting("local", "root").used
    assert os.environ["SLURM_CLUSTERS"] == "elsewhere"
