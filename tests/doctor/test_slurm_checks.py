from __future__ import annotations

from typing import Any

import pytest

from hpcbench.core.check_result import NOTE, OK, PROBLEM, WARNING, CheckResult
from hpcbench.doctor import slurm_checks
from hpcbench.slurm.cluster_query import Association, Nodes

FREE = (Association("proj1", "", (), None), Association("proj2", "", (), None))
SHARED = {"cpu": Nodes(4, 4, "NO"), "gpu": Nodes(2, 2, "EXCLUSIVE")}


def bad(found: list[CheckResult]) -> list[tuple[str, str]]:
    return [(finding.subject, finding.level) for finding in found if finding.level != OK]


def test_a_cluster_that_agrees_with_its_site_file_is_ok(cluster, site) -> None:
    found = slurm_checks.check_slurm(cluster(), site())
    assert bad(found) == []
    told = {finding.subject: finding.found for finding in found}
    assert told["Slurm"] == "version 24.05.1, cluster big"
    assert told["usable nodes"] == "cpu 9 of 10, gpu 2 of 2"
    assert told["accounting"] == "sacct responds; your account: proj1"
    assert (told["MaxArraySize"], told["MaxSubmitJobs"]) == ("1001", "100")
    assert told["shared nodes"] == "none: jobs have exclusive nodes"
    assert told["energy counter"] == "ipmi, every 30 s, per node: valid only for whole nodes"


@pytest.mark.parametrize(
    ("config", "expected", "words"),
    [
        ({"MaxArraySize": "500"}, ("MaxArraySize", PROBLEM), "500, and 1001 in the site file"),
        ({"TaskPlugin": "task/none"}, ("TaskPlugin", WARNING), "task/none"),
        ({"AcctGatherEnergyType": "acct_gather_energy/none"}, ("energy counter", NOTE), "none in Slurm"),
        ({"AcctGatherNodeFreq": "0 sec"}, ("energy counter", WARNING), "ipmi, AcctGatherNodeFreq=0"),
    ],
)
def test_a_setting_of_slurm_is_judged(cluster, site, config: dict[str, str], expected: Any, words: str) -> None:
    found = slurm_checks.check_slurm(cluster(config), site())
    assert bad(found) == [expected]
    assert any(words in finding.found for finding in found)


@pytest.mark.parametrize(
    ("fields", "expected", "words"),
    [
        ({"nodes": {"cpu": Nodes(4, 0, "EXCLUSIVE")}}, ("usable nodes", WARNING), "cpu 0 of 4"),
        ({"nodes": SHARED}, ("shared nodes", NOTE), "in cpu"),
        ({"nodes": {"cpu": Nodes(4, 4, "FORCE:4")}}, ("shared CPUs", WARNING), "in cpu"),
        ({"sacct_responds": False}, ("accounting", WARNING), "sacct fails"),
        ({"qos_limits": {"normal": 20}}, ("MaxSubmitJobs", WARNING), "20, and 100 in the site file"),
        (
            {"associations": (Association("proj1", "", (), 7), Association("proj2", "", (), 50))},
            ("MaxSubmitJobs", WARNING),
            "7, and 100 in the site file",
        ),
    ],
)
def test_what_slurm_says_of_nodes_and_users_is_judged(
    cluster, site, fields: dict[str, Any], expected: Any, words: str
) -> None:
    found = slurm_checks.check_slurm(cluster(**fields), site())
    assert bad(found) == [expected]
    assert any(words in finding.found for finding in found)


@pytest.mark.parametrize(
    ("sections", "expected", "words"),
    [
        ({"partitions": {"cpus": {}}}, ("partitions", PROBLEM), "'cpus', which Slurm does not have"),
        ({"slurm": {"partition": "fat"}}, ("partitions", PROBLEM), "'fat', which Slurm does not have"),
        (
            {"partitions": {"cpu": {"max_time": "2-00:00:00"}}},
            ("partitions", WARNING),
            "cpu allows 1-00:00:00, the site file 2-00:00:00",
        ),
        ({"slurm": {"account": "proj9"}}, ("account", PROBLEM), "'proj9', which is not among yours: proj1"),
        ({"slurm": {"qos": "fast"}}, ("qos", PROBLEM), "'fast', which is not among yours: long, normal"),
        ({"limits": {"max_submit_jobs": None}}, ("MaxSubmitJobs", WARNING), "100, and nothing in the site file"),
    ],
)
def test_a_site_file_that_disagrees_with_slurm_is_told(
    cluster, site, sections: dict[str, Any], expected: Any, words: str
) -> None:
    found = slurm_checks.check_slurm(cluster(), site(**sections))
    assert bad(found) == [expected]
    assert any(words in finding.found for finding in found)
    assert all(finding.means and finding.action for finding in found if finding.level != OK)


def test_the_action_for_a_mistyped_partition_names_the_right_one(cluster, site) -> None:
    found = slurm_checks.check_slurm(cluster(), site(partitions={"cpus": {}}))
    assert any("did you mean 'cpu'?" in finding.action for finding in found)


@pytest.mark.parametrize(
    ("option", "found", "action"),
    [
        (
            "partition",
            "SBATCH_PARTITION names 'cpus', which Slurm does not have",
            "In the shell: unset SBATCH_PARTITION, or correct it: did you mean 'cpu'?",
        ),
        (
            "account",
            "SBATCH_ACCOUNT names 'cpus', which is not among yours: proj1",
            "In the shell: unset SBATCH_ACCOUNT, or export SBATCH_ACCOUNT=proj1",
        ),
        (
            "qos",
            "SBATCH_QOS names 'cpus', which is not among yours: long, normal",
            "In the shell: unset SBATCH_QOS, or export SBATCH_QOS=long",
        ),
    ],
)
def test_a_variable_of_the_shell_is_named_instead_of_the_site_file(
    cluster: Any, site: Any, option: str, found: str, action: str
) -> None:
    results = slurm_checks.check_slurm(cluster(), site().with_shell_defaults({option: "cpus"}))
    (problem,) = [each for each in results if each.level == PROBLEM]
    assert (problem.found, problem.action) == (found, action)


def test_whole_nodes_are_not_shared(cluster, site) -> None:
    assert bad(slurm_checks.check_slurm(cluster(nodes=SHARED), site(slurm={"exclusive": True}))) == []
    assert bad(slurm_checks.check_slurm(cluster({"SelectType": "select/linear"}, nodes=SHARED), site())) == []


def test_a_qos_that_the_site_names_gives_the_limit(cluster, site) -> None:
    limits = {"normal": 5, "long": 200}
    found = slurm_checks.check_slurm(cluster(qos_limits=limits), site(slurm={"qos": "long"}))
    assert next(finding.found for finding in found if finding.subject == "MaxSubmitJobs") == "100"


TWO_ACCOUNTS = (Association("test", "short", ("short",), 10), Association("proj1", "", ("long", "normal"), None))


def test_only_the_account_that_the_site_names_gives_limits(cluster, site) -> None:
    both = cluster(associations=TWO_ACCOUNTS, qos_limits={"short": 5})
    assert bad(slurm_checks.check_slurm(both, site(slurm={"account": "proj1"}))) == []
    assert bad(slurm_checks.check_slurm(both, site(slurm={"account": "test"}))) == [("MaxSubmitJobs", WARNING)]
    assert bad(slurm_checks.check_slurm(both, site())) == [("MaxSubmitJobs", WARNING)]


def test_a_qos_of_another_account_is_not_one_for_the_account_that_the_site_names(cluster, site) -> None:
    found = slurm_checks.check_slurm(
        cluster(associations=TWO_ACCOUNTS), site(slurm={"account": "proj1", "qos": "short"})
    )
    assert bad(found) == [("qos", PROBLEM)]


@pytest.mark.parametrize("storage", ["accounting_storage/none", "(null)"])
def test_a_cluster_without_accounting_is_a_note(cluster, site, storage: str) -> None:
    none = {"AccountingStorageType": storage}
    found = slurm_checks.check_slurm(cluster(none, associations=None, sacct_responds=False), site())
    assert bad(found) == [("accounting", NOTE)]
    assert next(each.found for each in found if each.subject == "MaxSubmitJobs") == "no limit (no accounting)"


@pytest.mark.parametrize(("sacct_responds", "level"), [(True, NOTE), (False, WARNING)])
def test_associations_that_sacctmgr_does_not_show_are_unknown(
    cluster: Any, site: Any, sacct_responds: bool, level: str
) -> None:
    found = slurm_checks.check_slurm(cluster(associations=None, sacct_responds=sacct_responds), site())
    assert bad(found) == [("accounting", level), ("MaxSubmitJobs", NOTE)]
    told = {finding.subject: finding.found for finding in found}
    assert told["MaxSubmitJobs"] == "unknown (sacctmgr does not show your associations)"
    assert "no association" not in told["accounting"]


def test_a_user_without_limits_has_none(cluster, site) -> None:
    found = slurm_checks.check_slurm(cluster(associations=FREE), site())
    assert bad(found) == []
    told = {finding.subject: finding.found for finding in found}
    assert told["MaxSubmitJobs"] == "no limit"
    assert told["accounting"] == "sacct responds; your accounts: proj1, proj2"


def test_a_slurm_that_shows_no_configuration_is_told(cluster, site) -> None:
    empty = slurm_checks.Cluster({}, site(partitions={}))
    assert ("Slurm", WARNING) in bad(slurm_checks.check_slurm(empty, site()))


def test_what_slurm_does_not_enforce_is_no_limit(cluster, site) -> None:
    lenient = {"AccountingStorageEnforce": "none"}
    assert bad(slurm_checks.check_slurm(cluster(lenient), site(slurm={"account": "proj9", "qos": "fast"}))) == []
    found = slurm_checks.check_slurm(cluster(lenient), site(limits={}))
    assert bad(found) == []
    told = {finding.subject: finding.found for finding in found}
    assert told["MaxSubmitJobs"] == "no limit; 100 is not enforced"
