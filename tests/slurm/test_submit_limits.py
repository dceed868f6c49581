from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.config.site import Site
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.errors import UserError
from hpcbench.slurm.accounting import Accounting, Association, Cap, Counter, Qos
from hpcbench.slurm.submit_limits import Limits, Room, is_full

SITE = Site(name="big", scheduler="slurm")
POLICY = "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy"
POLICY += " (job submit limit, user's size and/or time limits)"


def limits(used: dict[Counter, int] | None = None, *everywhere: Cap) -> Limits:
    lab, mine = Association("lab", group_submit=20), Association("lab", "alice", default=True, max_submit=12)
    qos = {"few": Qos("few", per_user=5), "many": Qos("many", per_user=1000, group_submit=1000)}
    return Limits(everywhere, Accounting((lab, mine), qos), used or {})


def test_the_tightest_limit_says_how_many_fit_and_what_it_is() -> None:
    used: dict[Counter, int] = {("association", "lab", "alice", ""): 2, ("association", "lab", "", ""): 17}
    assert limits(used).room(SlurmOptions()) == Room(3, "GrpSubmitJobs of account lab: 17 of 20 jobs")
    assert limits(used).room(SlurmOptions(qos="few")).tasks == 3
    assert limits(used).room(SlurmOptions(qos="many")).tasks == 1000


def test_a_limit_that_was_lowered_since_leaves_no_room() -> None:
    over = limits({("association", "lab", "", ""): 25})
    assert over.room(SlurmOptions()) == Room(0, "GrpSubmitJobs of account lab: 25 of 20 jobs")


def test_without_limits_any_number_fits() -> None:
    assert Limits().room(SlurmOptions()) == Room(None, "")
    assert Limits().submitted(SlurmOptions(), 10**6).room(SlurmOptions()) == Room(None, "")


def test_what_was_submitted_counts_wherever_it_is_counted() -> None:
    after = limits(None, Cap(("user",), 15, "the user"), Cap(("cluster",), 100, "all")).submitted(SlurmOptions(), 8)
    assert after.room(SlurmOptions()).tasks == 4
    assert after.room(SlurmOptions(qos="few")).tasks == 5  # a limit of its own
    assert after.room(SlurmOptions(qos="many")) == Room(7, "the user: 8 of 15 jobs")
    assert after.room(SlurmOptions(account="elsewhere")).tasks == 7
    assert limits().room(SlurmOptions()).tasks == 12  # which is as it was


@given(
    batches=st.lists(st.tuples(st.sampled_from([None, "few", "many"]), st.integers(1, 30)), max_size=20),
    before=st.integers(0, 25),
    most=st.integers(1, 40),
)
def test_batches_that_are_cut_to_the_room_are_never_over_a_limit(
    batches: list[tuple[str | None, int]], before: int, most: int
) -> None:
    now = limits({("association", "lab", "", ""): before}, Cap(("user",), most, "the user"))
    for qos, wanted in batches:
        options = SlurmOptions(qos=qos)
        room = now.room(options).tasks
        assert room is not None
        now = now.submitted(options, min(wanted, room))
        assert now.room(options).tasks == room - min(wanted, room)
    assert now.used.get(("user",), 0) <= most
    assert now.used.get(("qos of user", "few"), 0) <= 5


@pytest.mark.parametrize(
    "words",
    [
        f"sbatch: error: {reason}\n{POLICY}"
        for reason in (
            "AssocGrpSubmitJobsLimit",
            "AssocMaxSubmitJobLimit",
            "MaxSubmitJobsPerAccount",
            "QOSGrpSubmitJobsLimit",
            "QOSMaxSubmitJobPerUserLimit",
        )
    ]
    + [
        (
            "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n"
            "sbatch: error: Batch job submission failed: Resource temporarily unavailable"
        ),
        "sbatch: error: Slurm job queue full, sleeping and retrying",
        "sbatch: error: Batch job submission failed: MaxJobCount limit reached",
    ],
)
def test_too_many_jobs_is_told_from_a_job_that_is_wrong(words: str) -> None:
    assert is_full(words)
    assert is_full(" ".join(words.split()))


@pytest.mark.parametrize(
    "words",
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
def test_a_job_that_is_wrong_is_not_taken_for_one_too_many(words: str) -> None:
    assert not is_full(words)


def config(**settings: str) -> str:
    told = {"ClusterName": "big", "MaxJobCount": "100", **settings}
    text = "\n".join(f"{name:<24}= {value}" for name, value in told.items())
    return f'case "$*" in *config*) cat <<END\n{text}\nEND\n;; *assoc_mgr*) cat assoc_mgr.txt ;; *) exit 1 ;; esac'


SQUEUE = f"for state in RUNNING PENDING COMPLETING CANCELLED COMPLETED; do echo '{os.getuid()}|'$state; done; "
SQUEUE += "for each in 1 2 3 4; do echo '123456|PENDING'; done"


def test_jobs_of_all_count_for_the_cluster_and_own_ones_for_the_site_with_fake_slurm_commands(
    fake_commands: Callable[..., Path],
) -> None:
    """Slurm before 25.05 refuses the job that makes the count equal to MaxJobCount, so one less fits."""
    folder = fake_commands(squeue=SQUEUE, scontrol=config())
    assert Limits.read(SITE).room(SlurmOptions()) == Room(90, "MaxJobCount of the cluster: 9 of 99 jobs")
    site = Site.model_validate({"name": "big", "scheduler": "slurm", "limits": {"max_submit_jobs": 10}})
    words = "limits.max_submit_jobs of the site file: 3 of 10 jobs"
    assert Limits.read(site).room(SlurmOptions()) == Room(7, words)
    arguments = (folder / "squeue.called").read_text().splitlines()
    assert {"--array", "--states=all"} <= set(arguments)
    assert not any(each.startswith(("--me", "--user")) for each in arguments)


@pytest.mark.parametrize(
    ("enforce", "asked"),
    [
        ("none", False),
        ("associations,qos", False),
        ("associations,limits", True),
        ("associations,limits,qos,safe", True),
    ],
)
def test_accounting_is_asked_only_where_its_limits_are_enforced_with_fake_slurm_commands(
    enforce: str, asked: bool, fake_commands: Callable[..., Path]
) -> None:
    folder = fake_commands(squeue=SQUEUE, scontrol=config(AccountingStorageEnforce=enforce), sacctmgr="exit 1")
    (folder / "assoc_mgr.txt").write_text((Path(__file__).parent / "assoc_mgr.txt").read_text())
    found = Limits.read(SITE)
    assert (folder / "sacctmgr.called").exists() is asked
    assert found.room(SlurmOptions(qos="few", account="lab")).limit.startswith(
        "MaxSubmitJobsPerUser of QOS few" if asked else "MaxJobCount"
    )


def test_jobs_that_squeue_hides_count_for_the_cluster_with_fake_slurm_commands(
    fake_commands: Callable[..., Path],
) -> None:
    folder = fake_commands(squeue="exit 0", scontrol=config(AccountingStorageEnforce="limits"), sacctmgr="exit 1")
    (folder / "assoc_mgr.txt").write_text((Path(__file__).parent / "assoc_mgr.txt").read_text())
    assert Limits.read(SITE).room(SlurmOptions(account="none")).limit == "MaxJobCount of the cluster: 12 of 99 jobs"


def test_a_queue_that_gives_no_answer_is_not_taken_for_an_empty_one_with_fake_slurm_commands(
    fake_commands: Callable[..., Path],
) -> None:
    fake_commands(squeue="exit 1", scontrol=config())
    with pytest.raises(UserError, match="squeue failed"):
        Limits.read(SITE)


def test_a_cluster_that_tells_nothing_of_itself_has_the_sites_limit_with_fake_slurm_commands(
    fake_commands: Callable[..., Path],
) -> None:
    fake_commands(squeue=SQUEUE, scontrol="exit 1")
    assert Limits.read(SITE).room(SlurmOptions()) == Room(None, "")
