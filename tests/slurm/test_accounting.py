from __future__ import annotations

import pytest

from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.slurm.accounting import Accounting, Association, Cap, Qos

ROOT = Association("root")
DEPARTMENT = Association("dept", parent="root", group_submit=30, max_submit=12)
LAB = Association("lab", parent="dept", group_submit=20, max_submit=12)
MINE = Association("lab", "alice", default=True, max_submit=12)
MINE_ON_GPU = Association("lab", "alice", "gpu", max_submit=2)
ELSEWHERE = Association("other", "alice", max_submit=7)
QOS = {
    qos.name: qos
    for qos in (
        Qos("normal"),
        Qos("few", per_user=5),
        Qos("group", group_submit=6),
        Qos("account", per_account=4, over_partition=True),
        Qos("none", per_user=0),
    )
}


def caps(accounting: Accounting | None = None, **options: str) -> dict[str, int]:
    known = accounting or Accounting(
        (ROOT, DEPARTMENT, LAB, MINE, MINE_ON_GPU, ELSEWHERE), QOS, default_partition="cpu"
    )
    standings = known.standings(SlurmOptions.model_validate(options))
    return {cap.words: cap.most for standing in standings for cap in standing.caps()}


def with_partition_qos(name: str) -> Accounting:
    return Accounting((LAB, MINE), QOS, partition_qos={"cpu": name}, default_partition="cpu")


def test_a_user_is_limited_by_the_association_and_by_the_accounts_above() -> None:
    assert caps() == {
        "MaxSubmitJobs of user alice under account lab": 12,
        "GrpSubmitJobs of account lab": 20,
        "GrpSubmitJobs of account dept": 30,
    }


def test_the_limit_of_an_account_is_inherited_and_not_counted_for_the_account_as_a_whole() -> None:
    assert "MaxSubmitJobs of account lab" not in caps()


def test_the_account_that_a_job_names_counts_in_whatever_case() -> None:
    assert caps(account="OTHER") == {"MaxSubmitJobs of user alice under account other": 7}


def test_an_association_for_the_partition_goes_before_the_one_for_all() -> None:
    assert caps(partition="gpu")["MaxSubmitJobs of user alice under account lab in partition gpu"] == 2
    assert "MaxSubmitJobs of user alice under account lab" not in caps(partition="gpu")


def test_a_job_for_several_partitions_must_fit_in_each() -> None:
    found = caps(partition="cpu,gpu")
    assert found["MaxSubmitJobs of user alice under account lab in partition gpu"] == 2
    assert found["MaxSubmitJobs of user alice under account lab"] == 12


@pytest.mark.parametrize("qos", ["few", "FEW"])
def test_the_qos_overrides_the_users_limit_and_leaves_those_of_the_group(qos: str) -> None:
    """https://slurm.schedmd.com/resource_limits.html: the first point of the hierarchy that has a limit is used."""
    assert caps(qos=qos) == {
        "MaxSubmitJobsPerUser of QOS few": 5,
        "GrpSubmitJobs of account lab": 20,
        "GrpSubmitJobs of account dept": 30,
    }


def test_a_group_limit_of_the_qos_overrides_those_of_all_accounts() -> None:
    assert caps(qos="group") == {
        "GrpSubmitJobs of QOS group": 6,
        "MaxSubmitJobs of user alice under account lab": 12,
    }


def test_a_limit_of_the_qos_by_account_overrides_the_users_limit_too() -> None:
    assert caps(qos="account")["MaxSubmitJobsPerAccount of QOS account for account lab"] == 4
    assert "MaxSubmitJobs of user alice under account lab" not in caps(qos="account")


def test_no_job_at_all_is_a_limit_too() -> None:
    assert caps(qos="none")["MaxSubmitJobsPerUser of QOS none"] == 0


def test_the_partitions_qos_goes_before_the_jobs() -> None:
    assert caps(with_partition_qos("none"), qos="few")["MaxSubmitJobsPerUser of QOS none"] == 0
    assert "MaxSubmitJobsPerUser of QOS few" not in caps(with_partition_qos("none"), qos="few")


def test_limits_of_different_kinds_come_from_both_qos() -> None:
    assert caps(with_partition_qos("group"), qos="few") == {
        "GrpSubmitJobs of QOS group": 6,
        "MaxSubmitJobsPerUser of QOS few": 5,
    }


def test_a_qos_with_over_part_qos_goes_before_the_partitions() -> None:
    (standing,) = with_partition_qos("few").standings(SlurmOptions(qos="account"))
    assert [qos.name for qos in standing.qos] == ["account", "few"]


def test_a_job_in_the_qos_of_its_partition_counts_once() -> None:
    (standing,) = with_partition_qos("few").standings(SlurmOptions(qos="few"))
    assert [qos.name for qos in standing.qos] == ["few"]


@pytest.mark.parametrize(
    ("defaults", "options", "expected"),
    [
        ({("lab", ""): "few"}, {}, "few"),
        ({("lab", "gpu"): "few"}, {"partition": "gpu"}, "few"),
        ({("lab", "gpu"): "few"}, {}, "normal"),
        ({("lab", ""): "few"}, {"qos": "group"}, "group"),
        ({}, {"account": "unknown"}, "normal"),
    ],
)
def test_the_default_qos_is_the_associations(
    defaults: dict[tuple[str, str], str], options: dict[str, str], expected: str
) -> None:
    accounting = Accounting((LAB, MINE, MINE_ON_GPU), QOS, defaults, default_partition="cpu")
    (standing,) = accounting.standings(SlurmOptions.model_validate(options))
    assert [qos.name for qos in standing.qos] == [expected]


def test_a_job_counts_in_all_its_associations_and_qos_limited_or_not() -> None:
    (standing,) = with_partition_qos("few").standings(SlurmOptions())
    assert standing.counters() == {
        MINE.counter,
        LAB.counter,
        *(counter for qos in ("few", "normal") for counter in (QOS[qos].counter, QOS[qos].user_counter)),
        QOS["few"].account_counter("lab"),
        QOS["normal"].account_counter("lab"),
    }


def test_without_any_accounting_nothing_is_limited() -> None:
    (standing,) = Accounting().standings(SlurmOptions())
    assert list(standing.caps()) == []


def test_a_cap_names_what_it_counts() -> None:
    (standing,) = Accounting((MINE,), QOS).standings(SlurmOptions())
    assert list(standing.caps()) == [Cap(MINE.counter, 12, "MaxSubmitJobs of user alice under account lab")]
