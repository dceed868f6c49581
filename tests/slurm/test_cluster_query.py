from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.config.site import Site
from hpcbench.errors import UserError
from hpcbench.slurm import cluster_query
from hpcbench.slurm.cluster_query import Association, Nodes, query_associations, query_cluster

Fake = Callable[..., Path]

SINFO = [
    "cpu*|1-00:00:00|30|32|128000|(null)|1-infinite",
    "cpu*|1-00:00:00|10|16+|64000+|(null)|1-infinite",
    "gpu|infinite|4|40|512000|gpu:v100:4(S:0-1),license:2|1-2",
    "mixed|30:00|2|8|32000|gpu:a100:2,gpu:2|1-infinite",
]
CONFIG = "cat <<'END'\nConfiguration data as of 2026-11-01\nClusterName = big\nMaxArraySize            = 10001\nEND"


def lines(*text: str) -> str:
    return "cat <<'END'\n" + "\n".join(text) + "\nEND"


@pytest.fixture
def cluster(fake_commands: Fake) -> Callable[..., tuple[Site, str]]:
    def probed(**commands: str) -> tuple[Site, str]:
        answers = {"sinfo": lines(*SINFO), "scontrol": CONFIG, "sacctmgr": lines("mine|||100"), **commands}
        fake_commands(**answers)
        found = cluster_query.probe()
        return Site.model_validate(found.site), "\n".join(found.unknown)

    return probed


def test_a_cluster_is_learnt_with_fake_slurm_commands(cluster: Callable[..., tuple[Site, str]]) -> None:
    site, unknown = cluster()
    assert (site.name, site.scheduler, site.default_partition) == ("big", "slurm", "cpu")
    assert (site.limits.max_array_size, site.limits.max_submit_jobs) == (10001, 100)
    assert site.environments == {}
    cpu, gpu, mixed = (site.partitions[name] for name in ("cpu", "gpu", "mixed"))
    assert (cpu.nodes, cpu.cpus_per_node, cpu.memory_mb_per_node, cpu.gpus_per_node) == (40, 32, 128000, 0)
    assert (cpu.max_time, cpu.max_nodes) == ("1-00:00:00", None)
    assert (gpu.gpus_per_node, gpu.max_time, gpu.max_nodes) == (4, None, 2)
    assert (mixed.gpus_per_node, mixed.max_time_s) == (4, 1800)
    assert unknown == "prices and electricity: Slurm has no data on cost and carbon"


def test_the_smaller_of_two_limits_of_arrays_counts_with_fake_slurm_commands(
    cluster: Callable[..., tuple[Site, str]],
) -> None:
    parameters = "SchedulerParameters     = bf_max_job_test=500,max_array_tasks=300"
    site, _ = cluster(scontrol=CONFIG.removesuffix("END") + parameters + "\nEND")
    assert site.limits.max_array_size == 300


@pytest.mark.parametrize(
    ("commands", "words"),
    [
        ({"sinfo": "exit 1"}, "partitions: sinfo failed"),
        ({"scontrol": "exit 1"}, "limits of the cluster: scontrol show config failed"),
        ({"scontrol": "echo ClusterName = x"}, "hpcbench uses Slurm's default, 1001"),
        (
            {"sacctmgr": "echo 'Connection \033[1m refused' >&2; exit 1"},
            "accounts and QOS: sacctmgr failed: Connection ?[1m refused; when slurmdbd responds, remove the site file",
        ),
        ({"sacctmgr": "exit 0"}, "sacctmgr shows no association of this user"),
        (
            {"scontrol": "echo 'AccountingStorageType = accounting_storage/none'"},
            "accounts and QOS: this cluster has no accounting",
        ),
        (
            {"scontrol": "echo 'AccountingStorageType   = (null)'", "sacctmgr": "exit 1"},  # since Slurm 23.11
            "accounts and QOS: this cluster has no accounting",
        ),
        ({"sacctmgr": lines("a|||", "b|||")}, "you may use a, b; the default is SBATCH_ACCOUNT, then Slurm's"),
    ],
)
def test_what_could_not_be_learnt_is_said_with_fake_slurm_commands(
    commands: dict[str, str], words: str, cluster: Callable[..., tuple[Site, str]]
) -> None:
    assert words in cluster(**commands)[1]


@pytest.mark.parametrize(
    "commands",
    [
        {"sinfo": lines(*SINFO, "empty|infinite|0|0|0|(null)|1-infinite")},
        {"sinfo": lines(*SINFO, "closed|0:00|4|4|1000|(null)|1-infinite")},
        {"sinfo": lines(*SINFO, "closed|infinite|4|4|1000|(null)|0")},
        {"sacctmgr": lines("mine|||0")},
        {"scontrol": "echo 'ClusterName = _test'"},
    ],
    ids=["a partition without nodes", "without time", "with no job allowed", "MaxSubmitJobs=0", "an odd name"],
)
def test_an_odd_cluster_makes_a_valid_site_with_fake_slurm_commands(
    commands: dict[str, str], cluster: Callable[..., tuple[Site, str]]
) -> None:
    assert cluster(**commands)[0].default_partition == "cpu"


NO_DNS = "scontrol: error: resolve_ctls_from_dns_srv: res_nsearch error: {}"
NO_SOURCE = "scontrol: error: fetch_config: DNS SRV lookup failed\nscontrol: fatal: Could not establish a configuration"


@pytest.mark.parametrize(
    ("ping", "answers"),
    [
        ("echo 'Slurmctld(primary) at head is UP'", True),
        ("echo 'Slurmctld(primary) at a is DOWN'; echo 'Slurmctld(backup) at b is UP'; exit 1", True),
        (f"echo '{NO_DNS.format('Unknown host')}\n{NO_SOURCE}' >&2; exit 1", False),
        (f"echo '{NO_DNS.format('No address associated with name')}\n{NO_SOURCE}' >&2; exit 1", False),
        (None, False),
    ],
)
def test_slurm_is_here_if_it_answers_with_fake_slurm_commands(
    ping: str | None, answers: bool, fake_commands: Fake
) -> None:
    fake_commands(**({"scontrol": ping} if ping else {}))
    assert cluster_query.slurm_responds() is answers


@pytest.mark.parametrize(
    ("ping", "words"),
    [
        ("echo 'Slurmctld(primary) at head.example is DOWN'; exit 1", "head.example is DOWN"),
        ("echo 'slurm_load_ctl_conf error: Unable to contact slurm controller' >&2; exit 1", "Unable to contact"),
        (f"echo '{NO_DNS.format('Host name lookup failure')}\n{NO_SOURCE}' >&2; exit 1", "Host name lookup failure"),
        ("exit 1", "ended with status 1"),
        ("exec sleep 10", "did not respond within"),
    ],
)
def test_a_controller_that_is_down_is_an_error_wherever_its_slurm_conf_is_with_fake_slurm_commands(
    ping: str, words: str, fake_commands: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_query, "QUERY_TIMEOUT_S", 0.3)
    fake_commands(scontrol=ping)
    with pytest.raises(UserError, match=words) as caught:
        cluster_query.slurm_responds()
    assert caught.value.what.startswith("Slurm is configured on this host, but not responding: ")
    assert "--local" in caught.value.hint


def test_the_asterisks_of_scontrol_ping_are_left_out_with_fake_slurm_commands(fake_commands: Fake) -> None:
    stars = "*" * 41
    down = lines("Slurmctld(primary) at vm is DOWN", stars, "** RESTORE SLURMCTLD DAEMON TO SERVICE **", stars)
    fake_commands(scontrol=f"{down}\nexit 1")
    with pytest.raises(UserError) as caught:
        cluster_query.slurm_responds()
    assert caught.value.what.endswith("not responding: Slurmctld(primary) at vm is DOWN")


def test_a_slurm_conf_without_commands_is_a_slurm_that_does_not_respond_with_fake_slurm_commands(
    fake_commands: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_commands()
    monkeypatch.setenv("SLURM_CONF", "/somewhere/slurm.conf")
    with pytest.raises(UserError, match="scontrol not found in PATH"):
        cluster_query.slurm_responds()


NODES = """
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
esac
"""


def test_a_cluster_is_queried_with_fake_slurm_commands(fake_commands: Fake) -> None:
    fake_commands(sinfo=NODES, scontrol=SCONTROL.format("slurmdbd"), sacctmgr=SACCTMGR, sacct="exit 0")
    found = query_cluster()
    assert found.config["MaxArraySize"] == "2000"
    assert found.site.partitions["gpu"].gpus_per_node == 4
    assert found.nodes == {"cpu": Nodes(6, 3, "NO"), "gpu": Nodes(4, 4, "EXCLUSIVE")}
    first, second = found.associations or ()
    assert first == Association("proj1", "", ("normal", "long"), None)
    assert second == Association("proj2", "long", ("long",), 9)
    assert found.qos_limits == {"normal": 50}
    assert (found.has_accounting, found.sacct_responds) == (True, True)


def test_the_greeting_of_a_wrapper_is_no_fact_with_fake_slurm_commands(fake_commands: Fake) -> None:
    hello = "echo 'Welcome to the cluster'\n"
    fake_commands(sinfo=hello + NODES, scontrol=hello + SCONTROL.format("slurmdbd"), sacctmgr=hello + SACCTMGR)
    found = query_cluster()
    assert found.nodes == {"cpu": Nodes(6, 3, "NO"), "gpu": Nodes(4, 4, "EXCLUSIVE")}
    assert list(found.site.partitions) == ["cpu", "gpu"]
    assert [each.account for each in found.associations or ()] == ["proj1", "proj2"]
    assert found.qos_limits == {"normal": 50}


@pytest.mark.parametrize("storage", ["accounting_storage/none", "(null)"])
def test_accounting_is_queried_only_if_the_cluster_has_it_with_fake_slurm_commands(
    storage: str, fake_commands: Fake
) -> None:
    scontrol = SCONTROL.replace("accounting_storage/{}", storage)
    folder = fake_commands(sinfo=NODES, scontrol=scontrol, sacctmgr="exit 1", sacct="exit 1")
    found = query_cluster()
    assert (found.has_accounting, found.associations, found.sacct_responds) == (False, None, False)
    assert not (folder / "sacct.called").exists()


def test_facts_whose_commands_fail_are_empty_with_fake_slurm_commands(fake_commands: Fake) -> None:
    fake_commands(sinfo="exit 1", scontrol="exit 1", sacctmgr="exit 1", sacct="exit 1")
    found = query_cluster()
    assert (found.config, found.nodes, found.associations) == ({}, {}, None)


# One slurmdbd for two clusters: the user may use lab-a on this one, and lab-b on the other, with a limit there.
TWO_CLUSTERS = """
case "$*" in
  *cluster=a*) echo 'lab-a|normal|normal|';;
  *assoc*) echo 'lab-a|normal|normal|'; echo 'lab-b|normal|normal|2';;
esac
"""


def test_only_the_associations_of_this_cluster_count_with_fake_slurm_commands(fake_commands: Fake) -> None:
    config = "echo 'ClusterName = a'; echo 'AccountingStorageType = accounting_storage/slurmdbd'"
    fake_commands(sinfo=lines(*SINFO), scontrol=config, sacctmgr=TWO_CLUSTERS)
    found = cluster_query.probe()
    assert "max_submit_jobs" not in found.site["limits"]
    assert not any("lab-b" in text for text in found.unknown)
    assert [each.account for each in query_cluster().associations or ()] == ["lab-a"]


def test_a_user_without_a_name_has_unknown_associations_with_fake_slurm_commands(
    fake_commands: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_name(uid: int) -> object:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", no_name)
    for name in ("USER", "LOGNAME", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    folder = fake_commands(scontrol="exit 0", sacctmgr="echo 'lab|||'")
    with pytest.raises(UserError, match=f"no user name for UID {os.getuid()}"):
        query_associations({"ClusterName": "a"})
    assert not (folder / "sacctmgr.called").exists()


def test_bytes_that_are_not_utf_8_change_nothing_with_fake_slurm_commands(fake_commands: Fake) -> None:
    hello = r"printf 'Gr\374\337e|vom|Betrieb|x\n'; "
    fake_commands(sinfo=hello + NODES, scontrol=hello + SCONTROL.format("slurmdbd"), sacctmgr=hello + SACCTMGR)
    found = query_cluster()
    assert found.nodes.keys() == {"cpu", "gpu"}
    assert found.config["ClusterName"] == "big"


def test_hidden_partitions_and_another_cluster_are_asked_for_with_fake_slurm_commands(
    fake_commands: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fake_commands(sinfo='echo "$SINFO_PARTITION" >> seen; ' + NODES, scontrol=SCONTROL.format("none"))
    monkeypatch.setenv("SINFO_PARTITION", "debug")
    query_cluster("other")
    called = (folder / "sinfo.called").read_text().splitlines()
    assert called.count("--all") == called.count("--clusters=other") == 2
    assert (folder / "seen").read_text().strip() == ""
