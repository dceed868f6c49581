from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.errors import UserError
from hpcbench.slurm import client
from hpcbench.slurm.client import NoAnswerError
from hpcbench.slurm.job_entry import JobEntry
from hpcbench.slurm.queue import Queue, by_id, find_by_name, query
from hpcbench.slurm.search_job import searching
from hpcbench.store.journal import Batch, Journal
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from hpcbench.submit import continuation_job

Fake = Callable[..., Path]
ME = os.getuid()
NO_ARRAYS = 'case "$*" in *--jobs=*) exit 0;; esac\n'


def says(*lines: str) -> str:
    return "cat <<'END'\n" + "\n".join(lines) + "\nEND"


def told(name: str, array: str, index: str, state: str, reason: str = "None", nodes: str = "", uid: int = ME) -> str:
    """A line of squeue."""
    return f"{array}|{index}|{state}|{uid}|N/A|N/A|{nodes}|{reason}|study-1.{name}|/elsewhere/script.sh"


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


def sweep_of(journal: Journal) -> Sweep:
    return Sweep(journal.paths, {"site": {"name": "here"}, "jobs": {"job-001": {}, "job-002": {}}})


def asked(journal: Journal) -> Queue:
    return query(sweep_of(journal), journal)


def test_elements_are_found_by_the_id_of_their_array_with_fake_slurm_commands(
    fake_commands: Fake, journal: Journal
) -> None:
    folder = fake_commands(
        squeue=says(
            "Welcome to the cluster",
            told("renamed by its user", "7", "0", "RUNNING", nodes="n1"),
            told("job-001.aa", "7", "1", "PENDING", "Priority"),
            told("job-001.aa", "7", "2", "NODE_FAIL", "NodeDown", "n2"),
            told("job-002.bb", "8", "0", "BRAND_NEW", nodes="n[2-3]"),
            told("job-002.bb", "9", "0", "RUNNING", nodes="n3"),
        )
    )
    found = by_id(["7", "8"], None)
    assert found.entries == {
        ("7", 0): JobEntry("RUNNING", "None", "n1", uid=ME, started=False),
        ("7", 1): JobEntry("PENDING", "Priority", "", uid=ME, started=False),
        ("7", 2): JobEntry("NODE_FAIL", "NodeDown", "n2", uid=ME, started=False),
        ("8", 0): JobEntry("BRAND_NEW", "None", "n[2-3]", uid=ME, started=False),
    }
    assert [found.is_active(("7", index)) for index in range(4)] == [True, True, False, False]
    assert (found.complaint, found.last_of_largest_array(2)) == ("", [("7", 0), ("7", 1)])
    called = (folder / "squeue.called").read_text().splitlines()
    assert {"--all", "--array", "--states=all", "--jobs=7,8"} <= set(called), "also those of a hidden partition"


@pytest.mark.parametrize(
    ("start", "end", "state", "expected"),
    [
        ("2026-03-11T10:00:00", "2026-03-11T11:00:00", "RUNNING", (True, False)),  # its end is its time limit
        ("2026-03-11T10:00:00", "2026-03-11T10:30:00", "FAILED", (True, True)),
        ("N/A", "2026-03-11T10:30:00", "CANCELLED", (False, True)),
    ],
)
def test_when_a_job_started_and_ended_is_read_with_fake_slurm_commands(
    start: str, end: str, state: str, expected: tuple[bool, bool], fake_commands: Fake
) -> None:
    fake_commands(squeue=says(f"7|0|{state}|{ME}|{start}|{end}|n1|None|name|/script.sh"))
    entry = by_id(["7"], None).entries["7", 0]
    assert (entry.started, entry.ended_at is not None) == expected


def test_a_reason_of_several_words_is_read_as_a_whole_with_fake_slurm_commands(fake_commands: Fake) -> None:
    reason = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
    fake_commands(squeue=says(told("job-001.aa", "7", "0", "PENDING", reason)))
    assert by_id(["7"], None).entries["7", 0].reason == reason


def test_a_sweep_is_two_calls_of_squeue_with_fake_slurm_commands(fake_commands: Fake, journal: Journal) -> None:
    for number in range(50):
        journal.submitting(Batch(journal.paths, f"job-001.{number:04x}"))
        journal.submitted(journal.batches[-1], str(100 + number))
    folder = fake_commands(squeue="echo called >> calls")
    asked(journal)
    assert (folder / "calls").read_text() == "called\n" * 2
    assert f"--jobs=7,8,{','.join(str(100 + n) for n in range(50))}\n" in (folder / "squeue.called").read_text()


def test_the_jobs_of_all_who_submitted_are_asked_for_with_fake_slurm_commands(
    fake_commands: Fake, journal: Journal
) -> None:
    other = ME + 7
    journal.submitting(Batch(journal.paths, "job-001.cc", uid=other))
    folder = fake_commands(squeue="exit 0")
    asked(journal)
    assert f"--user={ME},{other}\n" in (folder / "squeue.called").read_text()


def test_what_a_bare_sbatch_has_submitted_is_found_by_name_or_script_with_fake_slurm_commands(
    fake_commands: Fake, journal: Journal
) -> None:
    renamed = told("anything", "14", "0", "RUNNING").replace(
        "/elsewhere/script.sh", str(journal.paths.script("job-002"))
    )
    fake_commands(
        squeue=NO_ARRAYS
        + says(
            told("job-001", "12", "0", "RUNNING", nodes="n1"),
            told("job-001", "12", "1", "PENDING", "Priority"),
            told("job-001", "13", "0", "RUNNING", nodes="n1", uid=ME + 1),
            told("job-002.bb", "8", "0", "RUNNING", nodes="n1"),
            renamed,
        )
    )
    assert asked(journal).bare == (("job-001", "12"), ("job-002", "14"))


def test_the_continuation_job_is_found_with_fake_slurm_commands(fake_commands: Fake, journal: Journal) -> None:
    fake_commands(
        squeue=says(
            told("follow-on", "20", "N/A", "COMPLETED", nodes="n1"),
            told("follow-on", "21", "N/A", "PENDING", "Dependency"),
            told("job-001.aa", "7", "0", "RUNNING", nodes="n1"),
        )
    )
    found = asked(journal)
    assert (found.follow_on, found.last_of_largest_array(3)) == ({"21": ""}, [("7", 0)])


def test_those_are_waited_for_that_start_last_in_the_largest_array_and_that_nobody_holds_with_fake_slurm_commands(
    fake_commands: Fake,
) -> None:
    small = [told("job-001.aa", "7", str(index), "PENDING", "Priority") for index in (3, 4)]
    large = [told("job-002.bb", "8", str(index), "PENDING", "Priority") for index in (10, 2, 30, 4)]
    held = [told("job-001.aa", "7", str(index), "PENDING", "JobHeldUser") for index in range(50, 60)]
    fake_commands(squeue=says(*small, *held, *large))
    assert by_id(["7", "8"], None).last_of_largest_array(3) == [("8", 4), ("8", 10), ("8", 30)]
    fake_commands(squeue=says(*held))
    assert by_id(["7", "8"], None).last_of_largest_array(3) == []


def test_a_follow_on_job_that_is_ending_is_none_and_one_that_never_starts_says_why_with_fake_slurm_commands(
    fake_commands: Fake, journal: Journal
) -> None:
    fake_commands(
        squeue=says(
            told("follow-on", "20", "N/A", "COMPLETING", nodes="n1"),
            told("follow-on", "21", "N/A", "PENDING", "JobHeldUser"),
            told("follow-on", "22", "N/A", "RUNNING", nodes="n1"),
        )
    )
    found = asked(journal)
    assert found.follow_on == {"21": "it is held (JobHeldUser)", "22": ""}
    assert continuation_job.waiting(found) == ["22"]


def test_a_search_whose_job_is_ending_is_searched_no_more_with_fake_slurm_commands(
    fake_commands: Fake, journal: Journal
) -> None:
    config = says("ClusterName = here")
    ending, waiting = told("search", "30", "0", "COMPLETING", nodes="n1"), told("search", "31", "0", "PENDING")
    fake_commands(squeue=says(ending, waiting), scontrol=config)
    assert list(searching(sweep_of(journal), journal)) == ["31"]
    fake_commands(squeue="echo 'squeue: error: something' >&2", scontrol=config)
    with pytest.raises(NoAnswerError, match="something"):
        searching(sweep_of(journal), journal)


@pytest.mark.parametrize(
    ("scontrol", "expected"),
    [
        ("echo 'JobId=31 ArrayJobId=31 JobState=RUNNING Reason=None NodeList=n1'", ["31"]),
        ("echo 'JobId=31 ArrayJobId=31 JobState=TIMEOUT Reason=TimeLimit NodeList=n1'", []),
        ("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1", []),
        ("exit 0", None),
    ],
)
def test_a_search_whose_job_squeue_does_not_list_is_asked_for_by_its_id_with_fake_slurm_commands(
    scontrol: str, expected: list[str] | None, fake_commands: Fake, journal: Journal
) -> None:
    """Otherwise resume would submit a second job of it."""
    journal.submitting(Batch(journal.paths, "search.cc"))
    journal.submitted(journal.batches[-1], "31")
    fake_commands(
        squeue="exit 0", scontrol=f'case "$*" in *config*) echo "ClusterName = here"; exit 0;; esac\n{scontrol}'
    )
    if expected is None:
        with pytest.raises(NoAnswerError, match=r"whether job 31 has ended is unknown: .* printed nothing"):
            searching(sweep_of(journal), journal)
    else:
        assert list(searching(sweep_of(journal), journal)) == expected


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
    fake_commands(**({"squeue": squeue} if squeue else {}))
    with pytest.raises(UserError, match=words):
        asked(journal)


def test_an_error_message_makes_a_list_incomplete_with_fake_slurm_commands(
    fake_commands: Fake, journal: Journal
) -> None:
    running = told("job-001.aa", "7", "0", "RUNNING", nodes="n1")
    fake_commands(squeue=f"echo 'squeue: error: cached answer' >&2\n{says(running)}")
    found = asked(journal)
    assert found.entries.keys() == {("7", 0)}, "what it lists counts in any case"
    assert found.complaint == "squeue printed: squeue: error: cached answer"


@pytest.mark.parametrize("answer", ["exit 1", "exit 0"])
def test_an_id_that_slurm_does_not_know_is_no_complaint_with_fake_slurm_commands(
    answer: str, fake_commands: Fake, journal: Journal
) -> None:
    fake_commands(squeue=f"echo 'slurm_load_jobs error: Invalid job id specified' >&2; {answer}")
    assert asked(journal) == Queue()


@pytest.mark.parametrize("ends", ["exit 0", "exit 1"])
def test_a_user_without_a_name_is_asked_for_by_the_names_of_the_jobs_with_fake_slurm_commands(
    ends: str, fake_commands: Fake, journal: Journal
) -> None:
    own, other = told("job-001", "12", "0", "RUNNING"), told("job-001", "13", "0", "RUNNING", uid=ME + 1)
    refuses = f"case \"$*\" in *--user=*) echo 'squeue: error: Invalid user: {ME}' >&2; {ends};; esac\n"
    fake_commands(squeue=NO_ARRAYS + refuses + says(own, other))
    found = asked(journal)
    assert (found.bare, found.complaint) == ((("job-001", "12"),), "")


def test_bytes_that_are_not_utf_8_are_no_error_with_fake_slurm_commands(fake_commands: Fake) -> None:
    fake_commands(squeue=f"printf 'Gr\\374\\337e\\n'\n{says(told('aa', '7', '0', 'RUNNING'))}")
    assert by_id(["7"], None).entries.keys() == {("7", 0)}


def test_an_array_is_found_by_its_name_with_fake_slurm_commands(fake_commands: Fake) -> None:
    folder = fake_commands(squeue=says(told("job-001.ab12", "42", "0", "RUNNING"), told("other", "43", "0", "RUNNING")))
    assert find_by_name("study-1.job-001.ab12", ME, None) == "42"
    assert find_by_name("study-1.job-001.cd34", ME, None) is None
    assert f"--user={ME}" in (folder / "squeue.called").read_text()
    fake_commands(squeue="echo 'squeue: error: something' >&2")
    with pytest.raises(NoAnswerError, match="something"):
        find_by_name("study-1.job-001.ab12", ME, None)


def test_another_cluster_is_named_to_squeue_with_fake_slurm_commands(fake_commands: Fake) -> None:
    folder = fake_commands(squeue="exit 0")
    by_id(["7"], "other")
    assert (folder / "squeue.called").read_text().splitlines()[0] == "--clusters=other"
