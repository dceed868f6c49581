from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.slurm.accounting import accounted, find_in_accounting
from hpcbench.slurm.client import NoAnswerError
from hpcbench.slurm.job_entry import JobEntry, time_of

Fake = Callable[..., Path]
AT = "2026-03-11T10:15:00"


def says(*lines: str) -> str:
    return "cat <<'END'\n" + "\n".join(lines) + "\nEND"


def told(job: str, state: str, exit_code: str = "0:0", elapsed: str = "60", nodes: str = "n1", start: str = AT) -> str:
    """A line of sacct, of a job that may run for five minutes."""
    return f"{job}|{state}|{exit_code}|{elapsed}|5|1000|{start}|{AT}|None|{nodes}"


def test_how_elements_ended_is_found_in_one_sacct_with_fake_slurm_commands(fake_commands: Fake) -> None:
    folder = fake_commands(
        sacct=says(
            "Project 7 expires in 3 days",
            told("7_0", "COMPLETED"),
            told("7_1", "CANCELLED by 0"),
            told("7_2", "OUT_OF_MEMORY", "0:125", nodes="n[1-2]"),
            told("7_[4-8:2%2]", "CANCELLED by 0", nodes="None assigned", start="None"),
            told("7_9", "BRAND_NEW", "1:0"),
            told("7_7", "RUNNING"),
            told("7_3", "RUNNING", elapsed="901"),
        )
    )
    found = accounted({("7", index) for index in range(10)} | {("8", 0)}, None)
    assert {index: entry.state for (_, index), entry in found.items()} == {
        0: "COMPLETED",
        1: "CANCELLED by 0",
        2: "OUT_OF_MEMORY",
        3: "RUNNING",
        4: "CANCELLED by 0",
        6: "CANCELLED by 0",
        7: "RUNNING",
        8: "CANCELLED by 0",
        9: "BRAND_NEW",
    }
    at = time_of(AT)
    assert found["7", 2] == JobEntry("OUT_OF_MEMORY", "None", "n[1-2]", "0:125", 1000, True, at)
    assert (found["7", 4].nodes, found["7", 4].started) == ("", False)
    assert (found["7", 9].ended, found["7", 7].ended) == (False, False), "an unknown state is no evidence of an end"
    assert (found["7", 3].overdue, found["7", 7].overdue) == (True, False), "no job of 5 minutes runs for 15"
    called = (folder / "sacct.called").read_text().splitlines()
    assert [word for word in called if word.startswith("--jobs")] == ["--jobs=7,8"]


def test_an_array_that_was_cancelled_before_any_of_it_started_has_one_line_for_all_with_fake_slurm_commands(
    fake_commands: Fake,
) -> None:
    fake_commands(sacct=says(told("28000071", "CANCELLED by 0", nodes="None assigned", start="None")))
    found = accounted({("28000071", 0), ("28000071", 999), ("28000072", 0)}, None)
    assert found.keys() == {("28000071", 0), ("28000071", 999)}
    assert {(entry.state, entry.started) for entry in found.values()} == {("CANCELLED by 0", False)}


@pytest.mark.parametrize("start", ["None", AT])
def test_an_element_with_a_line_of_its_own_is_not_the_cancelled_rest_of_its_array_with_fake_slurm_commands(
    start: str, fake_commands: Fake
) -> None:
    """Slurm 20.11 and 22.05 print the time at which the rest was cancelled as its start."""
    lines = [told("7_0", "FAILED", "1:0"), told("7", "CANCELLED by 0", nodes="None assigned", start=start)]
    for each in (lines, lines[::-1]):
        fake_commands(sacct=says(*each))
        found = accounted({("7", 0), ("7", 1)}, None)
        assert {index: entry.state for (_, index), entry in found.items()} == {0: "FAILED", 1: "CANCELLED by 0"}


def test_an_element_whose_start_the_database_lacks_is_not_the_whole_array_with_fake_slurm_commands(
    fake_commands: Fake,
) -> None:
    """As Slurm 20.11 and 22.05 print it, by the number of the job without its index."""
    fake_commands(sacct=says(told("7", "FAILED", "3:0", elapsed="0", start="Unknown"), told("8", "RUNNING")))
    assert accounted({("7", 0), ("7", 1), ("8", 0)}, None) == {}


def test_a_list_of_indices_that_slurm_has_cut_off_says_nothing_with_fake_slurm_commands(fake_commands: Fake) -> None:
    fake_commands(sacct=says(told("7_[1,3,5,...]", "CANCELLED by 0")))
    assert accounted({("7", 1), ("7", 7)}, None) == {}


@pytest.mark.parametrize(
    "sacct",
    [
        "echo 'Slurm accounting storage is disabled' >&2; exit 1",
        "echo 'You are not running a supported accounting_storage plugin' >&2; exit 1",
        "exit 0",
        None,
    ],
)
def test_a_site_without_accounting_has_just_no_more_to_say_with_fake_slurm_commands(
    sacct: str | None, fake_commands: Fake
) -> None:
    fake_commands(**({"sacct": sacct} if sacct else {}))
    assert accounted({("7", 0), ("7", 1)}, None) == {}
    assert find_in_accounting("study-1.job-001.ab12", 1000, None) is None


def test_an_accounting_that_does_not_answer_is_an_error_with_fake_slurm_commands(fake_commands: Fake) -> None:
    fake_commands(sacct="echo 'sacct: error: Problem talking to the database: Connection refused' >&2; exit 1")
    with pytest.raises(NoAnswerError, match="Connection refused"):
        accounted({("7", 0)}, None)


def test_nothing_is_asked_where_nothing_has_left_the_queue_with_fake_slurm_commands(fake_commands: Fake) -> None:
    fake_commands()
    assert accounted([], None) == {}


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (("43_0|1000", "43_1|1000"), "43"),
        (("44_[0-9%2]|1000",), "44"),
        (("45_0|1001", "46_0|1000"), "46"),
        (("45_0|1001",), None),
    ],
)
def test_an_array_of_a_user_is_found_by_its_name_with_fake_slurm_commands(
    lines: tuple[str, ...], found: str | None, fake_commands: Fake
) -> None:
    fake_commands(sacct=says(*lines))
    assert find_in_accounting("study-1.job-001.ab12", 1000, None) == found
