from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.errors import UserError
from hpcbench.slurm import client, queue
from hpcbench.slurm.client import NoAnswerError
from hpcbench.slurm.queue import Queue, QueueEntry, accounted, find_by_name, query
from hpcbench.store.journal import Batch, Journal
from hpcbench.store.workspace import Workspace
from hpcbench.submit import continuation_job

Fake = Callable[..., Path]


def says(*lines: str) -> str:
    return "cat <<'END'\n" + "\n".join(lines) + "\nEND"


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """Of a sweep of two jobs, both submitted."""
    paths = Workspace(tmp_path / "workspace").paths("study-1")
    paths.jobs.mkdir(parents=True)
    made = Journal(paths)
    for name, slurm_id in (("job-001.aa", "7"), ("job-002.bb", "8")):
        made.submitting(Batch(paths, name))
        made.submitted(made.batches[-1], slurm_id)
    return made


def asked(journal: Journal) -> Queue:
    return query("study-1", ["job-001", "job-002"], journal)


def test_elements_are_found_in_squeue_with_fake_slurm_commands(fake_commands: Fake, journal: Journal) -> None:
    fake_commands(
        squeue=says(
            "study-1.job-001.aa|7|0|RUNNING|None|n1",
            "study-1.job-001.aa|7|1|PENDING|Priority|",
            "study-1.job-001.aa|7|2|NODE_FAIL|NodeDown|n2",
            "study-1.job-002.bb|8|0|BRAND_NEW|None|n[2-3]",
            "study-1.job-002.bb|9|N/A|RUNNING|None|n3",
        )
    )
    found = asked(journal)
    assert found.entries == {
        ("7", 0): QueueEntry("RUNNING", False, "None", "n1"),
        ("7", 1): QueueEntry("PENDING", False, "Priority", ""),
        ("7", 2): QueueEntry("NODE_FAIL", True, "NodeDown", "n2"),
        ("8", 0): QueueEntry("BRAND_NEW", False, "None", "n[2-3]"),
    }
    assert [found.is_active(("7", index)) for index in range(4)] == [True, True, False, False]
    assert (found.bare, found.last_of_largest_array(2)) == ((), [("7", 0), ("7", 1)])


def test_a_reason_of_many_words_is_one_with_fake_slurm_commands(fake_commands: Fake, journal: Journal) -> None:
    reason = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
    fake_commands(squeue=says(f"study-1.job-001.aa|7|0|PENDING|{reason}|"))
    assert asked(journal).entries["7", 0].reason == reason


def test_all_arrays_of_a_sweep_are_asked_for_in_one_squeue_with_fake_slurm_commands(
    fake_commands: Fake, journal: Journal
) -> None:
    for number in range(50):
        journal.submitting(Batch(journal.paths, f"job-001.{number:04x}"))
    journal.rejected(journal.batches[-1], "no")
    folder = fake_commands(squeue="echo called >> calls")
    asked(journal)
    assert (folder / "calls").read_text() == "called\n"
    (names,) = [word for word in (folder / "squeue.called").read_text().split() if word.startswith("--name=")]
    of_batches = ["study-1.job-001.aa", "study-1.job-002.bb", *(f"study-1.job-001.{n:04x}" for n in range(49))]
    assert names.removeprefix("--name=").split(",") == [
        "study-1.job-001",
        "study-1.job-002",
        "study-1.follow-on",
        *of_batches,
    ]


def test_more_arrays_than_one_word_can_name_are_asked_for_by_their_user_with_fake_slurm_commands(
    fake_commands: Fake, journal: Journal
) -> None:
    journal.batches += [Batch(journal.paths, f"job-001.{number:08x}") for number in range(6000)]
    folder = fake_commands(squeue=says("study-1.job-001.00000fff|7|0|RUNNING|None|n1", "other|8|0|RUNNING|None|n1"))
    assert asked(journal).entries == {("7", 0): QueueEntry("RUNNING", False, "None", "n1")}
    assert "--name" not in (folder / "squeue.called").read_text()


def test_the_jobs_of_all_who_submitted_are_asked_for_with_fake_slurm_commands(
    fake_commands: Fake, journal: Journal
) -> None:
    other = os.getuid() + 7
    journal.submitting(Batch(journal.paths, "job-001.cc", uid=other))
    folder = fake_commands(squeue="exit 0")
    asked(journal)
    assert f"--user={os.getuid()},{other}\n" in (folder / "squeue.called").read_text()


def test_what_a_bare_sbatch_has_submitted_is_found_by_the_scripts_own_name_with_fake_slurm_commands(
    fake_commands: Fake, journal: Journal
) -> None:
    fake_commands(
        squeue=says(
            "study-1.job-001|11|0|COMPLETED|None|n1",
            "study-1.job-001|12|0|RUNNING|None|n1",
            "study-1.job-001|12|1|PENDING|Priority|",
            "study-1.job-002|13|0|CANCELLED|None|n1",
            "study-1.job-002.bb|8|0|RUNNING|None|n1",
        )
    )
    assert asked(journal).bare == (("job-001", "12"),)


def test_the_job_that_will_submit_the_rest_is_found_in_the_same_squeue_with_fake_slurm_commands(
    fake_commands: Fake, journal: Journal
) -> None:
    folder = fake_commands(
        squeue=says(
            "study-1.follow-on|20|N/A|COMPLETED|None|n1",
            "study-1.follow-on|21|N/A|PENDING|Dependency|",
            "study-1.job-001.aa|7|0|RUNNING|None|n1",
        )
    )
    found = asked(journal)
    assert (found.follow_on, found.last_of_largest_array(3)) == ({"21": ""}, [("7", 0)])
    assert "study-1.follow-on" in (folder / "squeue.called").read_text()


def test_those_are_waited_for_that_start_last_in_the_largest_array_and_that_nobody_holds_with_fake_slurm_commands(
    fake_commands: Fake, journal: Journal
) -> None:
    small = [f"study-1.job-001.aa|7|{index}|PENDING|Priority|" for index in (3, 4)]
    large = [f"study-1.job-002.bb|8|{index}|PENDING|Priority|" for index in (10, 2, 30, 4)]
    held = [f"study-1.job-001.aa|7|{index}|PENDING|JobHeldUser|" for index in range(50, 60)]
    fake_commands(squeue=says(*small, *held, *large))
    assert asked(journal).last_of_largest_array(3) == [("8", 4), ("8", 10), ("8", 30)]
    fake_commands(squeue=says(*held))
    assert asked(journal).last_of_largest_array(3) == []


def test_a_follow_on_job_that_is_ending_is_none_and_one_that_never_starts_says_why_with_fake_slurm_commands(
    fake_commands: Fake, journal: Journal
) -> None:
    lines = ["study-1.follow-on|20|N/A|COMPLETING|None|n1", "study-1.follow-on|21|N/A|PENDING|JobHeldUser|"]
    fake_commands(squeue=says(*lines, "study-1.follow-on|22|N/A|RUNNING|None|n1"))
    found = asked(journal)
    assert found.follow_on == {"21": "it is held (JobHeldUser)", "22": ""}
    assert continuation_job.waiting(found) == ["22"]


def test_a_search_whose_job_is_ending_is_searched_no_more_with_fake_slurm_commands(
    fake_commands: Fake, journal: Journal
) -> None:
    lines = ["study-1.search|30|0|COMPLETING|None|n1", "study-1.search|31|0|PENDING|Priority|"]
    fake_commands(squeue=says(*lines))
    assert list(queue.searching("study-1", journal)) == ["31"]


@pytest.mark.parametrize(
    ("squeue", "words"),
    [
        ("echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1", "Unable to contact slurm"),
        ("exec sleep 10", "did not respond within"),
        (None, "squeue not found"),
    ],
)
def test_no_answer_is_not_taken_for_an_empty_queue_with_fake_slurm_commands(
    squeue: str | None, words: str, fake_commands: Fake, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "TIMEOUT_S", 0.3)
    fake_commands(sacct=says("7_0|COMPLETED|0:0|60|5|None|n1"), **({"squeue": squeue} if squeue else {}))
    with pytest.raises(UserError, match=words):
        asked(journal)


def test_what_a_wrapper_prints_is_not_taken_for_an_answer_with_fake_slurm_commands(
    fake_commands: Fake, journal: Journal
) -> None:
    fake_commands(squeue=says("Welcome to the cluster", "study-1.job-001.aa|7|0|RUNNING|None|n1"))
    with pytest.raises(NoAnswerError, match="squeue printed an unexpected line: 'Welcome to the cluster'"):
        asked(journal)
    fake_commands(sacct=says("7_0|COMPLETED"))
    with pytest.raises(NoAnswerError, match="sacct printed an unexpected line"):
        accounted({("7", 0)})
    with pytest.raises(NoAnswerError, match="Slurm printed an unexpected line: 'Welcome to the cluster'"):
        find_by_name("study-1.job-001.ab12", 1000)


def test_a_single_job_that_slurm_has_forgotten_is_an_empty_queue_with_fake_slurm_commands(
    fake_commands: Fake, journal: Journal
) -> None:
    fake_commands(squeue="echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    assert asked(journal).entries == {}


def test_how_elements_ended_is_found_in_one_sacct_with_fake_slurm_commands(fake_commands: Fake) -> None:
    folder = fake_commands(
        sacct=says(
            "7_0|COMPLETED|0:0|60|5|None|n1",
            "7_1|CANCELLED by 0|0:0|60|5|JobHeldUser|n2",
            "7_2|OUT_OF_MEMORY|0:125|60|5|None|n[1-2]",
            "7_[4-5,8%2]|CANCELLED by 0|0:0|60|5|None|None assigned",
            "7_6|BRAND_NEW|1:0|60|5|None|n1",
            "7_7|RUNNING|0:0|60|5|None|n1",
            "7_3|RUNNING|0:0|901|5|None|n1",
        )
    )
    found = accounted({("7", index) for index in range(9)} | {("8", 0)})
    assert {index: entry.state for (_, index), entry in found.items()} == {
        0: "COMPLETED",
        1: "CANCELLED by 0",
        2: "OUT_OF_MEMORY",
        3: "RUNNING",
        4: "CANCELLED by 0",
        5: "CANCELLED by 0",
        6: "BRAND_NEW",
        7: "RUNNING",
        8: "CANCELLED by 0",
    }
    assert found["7", 2] == QueueEntry("OUT_OF_MEMORY", True, "None", "n[1-2]", "0:125")
    assert found["7", 4].nodes == ""
    assert (found["7", 6].ended, found["7", 7].ended) == (True, False)
    assert found["7", 3].ended, "it was lost: no job runs for 15 minutes that may run for 5"
    called = (folder / "sacct.called").read_text().splitlines()
    assert [word for word in called if word.startswith("--jobs")] == ["--jobs=7,8"]


def test_an_array_that_was_cancelled_before_any_of_it_started_has_one_line_for_all_with_fake_slurm_commands(
    fake_commands: Fake,
) -> None:
    fake_commands(sacct=says("28000071|CANCELLED by 0|0:0|60|5|None|None assigned"))
    found = accounted({("28000071", 0), ("28000071", 999), ("28000072", 0)})
    assert found == dict.fromkeys(
        [("28000071", 0), ("28000071", 999)], QueueEntry("CANCELLED by 0", True, "None", "", "0:0")
    )


@pytest.mark.parametrize("sacct", ["echo 'Slurm accounting storage is disabled' >&2; exit 1", "exit 0", None])
def test_a_site_without_accounting_has_just_no_more_to_say_with_fake_slurm_commands(
    sacct: str | None, fake_commands: Fake
) -> None:
    fake_commands(**({"sacct": sacct} if sacct else {}))
    assert accounted({("7", 0), ("7", 1)}) == {}


def test_an_accounting_that_does_not_answer_is_an_error_with_fake_slurm_commands(fake_commands: Fake) -> None:
    fake_commands(sacct="echo 'sacct: error: Problem talking to the database: Connection refused' >&2; exit 1")
    with pytest.raises(NoAnswerError, match="Connection refused"):
        accounted({("7", 0)})


def test_nothing_is_asked_where_nothing_has_left_the_queue_with_fake_slurm_commands(fake_commands: Fake) -> None:
    fake_commands()
    assert accounted([]) == {}


@pytest.mark.parametrize(
    ("entry", "could_not"),
    [
        (QueueEntry("FAILED", True, exit_code="0:53"), True),
        (QueueEntry("FAILED", True, reason="JobLaunchFailure"), True),
        (QueueEntry("FAILED", True, reason="NonZeroExitCode", exit_code="1:0"), False),
    ],
)
def test_a_job_that_could_not_open_its_log_is_recognised(entry: QueueEntry, could_not: bool) -> None:
    assert entry.could_not_log == could_not


def test_a_job_that_comes_up_while_the_accounting_is_slow_is_found_with_fake_slurm_commands(
    fake_commands: Fake, tmp_path: Path
) -> None:
    fake_commands(squeue=f"cat {tmp_path}/served || true", sacct=f"echo 45 > {tmp_path}/served")
    assert find_by_name("study-1.job-001.ab12", 1000) == "45"


@pytest.mark.parametrize(
    ("squeue", "sacct", "found"),
    [
        (says("42", "42"), "exit 1", "42"),
        ("exit 0", says("43_0", "43_1"), "43"),
        ("exit 0", says("44_[0-9%2]"), "44"),
        ("exit 0", "echo 'Slurm accounting storage is disabled' >&2; exit 1", None),
    ],
)
def test_an_array_is_found_by_its_name_with_fake_slurm_commands(
    squeue: str, sacct: str, found: str | None, fake_commands: Fake
) -> None:
    folder = fake_commands(squeue=squeue, sacct=sacct)
    assert find_by_name("study-1.job-001.ab12", 1000) == found
    assert "--name=study-1.job-001.ab12" in (folder / "squeue.called").read_text()


@pytest.mark.parametrize(
    ("entry", "words", "for_ever"),
    [
        (QueueEntry("RUNNING", False, "None", "n1"), "running", False),
        (QueueEntry("PENDING", False, "None"), "pending", False),
        (QueueEntry("PENDING", False, "BrandNewReason"), "pending: BrandNewReason", False),
        (QueueEntry("BRAND_NEW", False, "JobHeldUser"), "brand_new", False),
    ],
)
def test_an_element_says_how_it_stands(entry: QueueEntry, words: str, for_ever: bool) -> None:
    assert (entry.in_words, entry.waits_for_ever) == (words, for_ever)


def test_what_is_held_waits_for_ever() -> None:
    held = QueueEntry("PENDING", False, "JobHeldUser")
    assert held.waits_for_ever
    assert held.in_words.startswith("pending: ")
    assert held.in_words.endswith("(JobHeldUser)")
