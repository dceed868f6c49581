from __future__ import annotations

import pytest

from hpcbench.slurm.job_entry import JobEntry, time_of


@pytest.mark.parametrize(
    ("entry", "could_not"),
    [
        (JobEntry("FAILED", exit_code="0:53"), True),
        (JobEntry("FAILED", reason="JobLaunchFailure"), True),
        (JobEntry("FAILED", reason="NonZeroExitCode", exit_code="1:0"), False),
    ],
)
def test_a_job_that_could_not_open_its_log_is_recognised(entry: JobEntry, could_not: bool) -> None:
    assert entry.could_not_log == could_not


@pytest.mark.parametrize(
    ("entry", "words", "for_ever"),
    [
        (JobEntry("RUNNING", "None", "n1"), "running", False),
        (JobEntry("PENDING", "None"), "pending", False),
        (JobEntry("PENDING", "BrandNewReason"), "pending: BrandNewReason", False),
        (JobEntry("BRAND_NEW", "JobHeldUser"), "brand_new", False),
    ],
)
def test_an_element_describes_its_state(entry: JobEntry, words: str, for_ever: bool) -> None:
    assert (entry.in_words, entry.waits_for_ever) == (words, for_ever)


def test_what_is_held_waits_for_ever() -> None:
    held = JobEntry("PENDING", "JobHeldUser")
    assert held.waits_for_ever
    assert held.in_words.startswith("pending: ")
    assert held.in_words.endswith("(JobHeldUser)")


@pytest.mark.parametrize("state", ["BRAND_NEW", "RUNNING", "COMPLETING", "REQUEUED", ""])
def test_a_state_that_hpcbench_does_not_know_is_not_final(state: str) -> None:
    assert not JobEntry(state).ended


def test_a_time_is_local_and_other_text_is_none() -> None:
    first, second = time_of("2026-03-11T10:15:00"), time_of("2026-03-11T10:15:01")
    assert first is not None
    assert second == first + 1
    assert [time_of(text) for text in ("N/A", "Unknown", "None", "")] == [None] * 4
