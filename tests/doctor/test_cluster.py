from __future__ import annotations

from hpcbench.doctor.cluster import Association, Nodes, ask_cluster

SINFO = """
case "$*" in
  *%h*) echo 'cpu*|idle|3|NO'; echo 'cpu*|mixed*|1|NO'; echo 'cpu*|drained|2|NO'; echo 'gpu|idle~|4|EXCLUSIVE';;
  *) echo 'cpu*|1-00:00:00|6|32|128000|(null)|1-infinite'; echo 'gpu|infinite|4|40|512000|gpu:v100:4(S:0-1)|1-2';;
esac
"""
SCONTROL = """
echo 'ClusterName = big'
echo 'AccountingStorageType = accounting_storage/{}'
echo 'MaxArraySize = 2000'
"""
SACCTMGR = """
case "$*" in
  *qos*format=name*) echo 'normal|50'; echo 'long|';;
  *defaultqos*) echo 'proj1||normal,long|'; echo 'proj2|long|long|9';;
  *) echo 'proj1|'; echo 'proj2|9';;
esac
"""


def test_a_cluster_is_asked_with_fake_slurm_commands(fake_commands) -> None:
    fake_commands(sinfo=SINFO, scontrol=SCONTROL.format("slurmdbd"), sacctmgr=SACCTMGR, sacct="exit 0")
    found = ask_cluster()
    assert found.config["MaxArraySize"] == "2000"
    assert found.site.partitions["gpu"].gpus_per_node == 4
    assert found.nodes == {"cpu": Nodes(6, 3, "NO"), "gpu": Nodes(4, 4, "EXCLUSIVE")}
    first, second = found.associations or ()
    assert first == Association("proj1", "", ("normal", "long"), None)
    assert second == Association("proj2", "long", ("long",), 9)
    assert found.qos_limits == {"normal": 50}
    assert (found.keeps_accounts, found.sacct_answers) == (True, True)


def test_a_cluster_without_accounting_is_not_asked_for_it_with_fake_slurm_commands(fake_commands) -> None:
    folder = fake_commands(sinfo=SINFO, scontrol=SCONTROL.format("none"), sacctmgr="exit 1", sacct="exit 1")
    found = ask_cluster()
    assert (found.keeps_accounts, found.associations, found.sacct_answers) == (False, None, False)
    assert not (folder / "sacct.called").exists()


def test_commands_that_give_no_answer_leave_it_empty_with_fake_slurm_commands(fake_commands) -> None:
    fake_commands(sinfo="exit 1", scontrol="exit 1", sacctmgr="exit 1", sacct="exit 1")
    found = ask_cluster()
    assert (found.config, found.nodes, found.associations) == ({}, {}, None)
