"""The table of evidence and conclusions, a row for each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbench.slurm.job_entry import JobEntry
from hpcbench.status.evidence import Evidence, conclude

ME, OTHER = 1000, 1001
NOW, DELAY = 10_000.0, 120
WORDS = "`scontrol show job 7_3` printed: Job 7_3 not found"


def entry(state: str, ended_s_ago: float | None = None, **changes: object) -> JobEntry:
    ended_at = None if ended_s_ago is None else NOW - ended_s_ago
    return replace(JobEntry(state, uid=ME, started=True, ended_at=ended_at), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "kind", "words"),
    [
        (Evidence(ME, entry("RUNNING")), "active", ""),
        (Evidence(ME, entry("PENDING"), entry("FAILED", 900)), "active", ""),  # it was requeued
        (Evidence(ME, entry("BRAND_NEW")), "active", ""),
        (Evidence(ME, entry("RUNNING", uid=OTHER)), "unknown", "a job of another user under this ID"),
        (Evidence(OTHER, entry("RUNNING", uid=OTHER)), "active", ""),
        (Evidence(OTHER, entry("FAILED", 900, uid=OTHER)), "unknown", "only the user who submitted the job"),
        (Evidence(OTHER, unknown_since=0.0), "unknown", "only the user who submitted the job"),
        (Evidence(ME, entry("CANCELLED by 7", 1, started=False)), "ended", ""),
        (Evidence(ME, None, entry("CANCELLED", 1, started=False)), "ended", ""),
        (Evidence(ME, entry("CANCELLED", 1, started=False), changed_at=NOW - 5), "unknown", "may become visible"),
        (Evidence(ME, entry("COMPLETED", 9_000)), "unknown", "Slurm reports COMPLETED, but its record is not visible"),
        (Evidence(ME, entry("FAILED", 119)), "unknown", "Slurm reports FAILED; a record may become visible until"),
        (Evidence(ME, entry("FAILED", 121)), "ended", ""),
        (Evidence(ME, entry("FAILED")), "unknown", "may become visible"),  # Slurm does not say when
        (Evidence(ME, None, entry("FAILED", 121)), "ended", ""),
        (Evidence(ME, None, entry("FAILED", 900), changed_at=NOW - 5), "unknown", "may become visible"),
        (Evidence(ME, unknown_since=NOW - 119, words=WORDS), "unknown", "Job 7_3 not found; a record may become"),
        (Evidence(ME, unknown_since=NOW - 121), "ended", ""),
        (Evidence(ME, unknown_since=NOW - 900, changed_at=NOW - 5, words=WORDS), "unknown", "Job 7_3 not found"),
        (Evidence(ME, unknown_since=NOW - 900, sacct_failed=True, words=WORDS), "unknown", "Job 7_3 not found"),
        (Evidence(ME, None, entry("RUNNING"), NOW - 900, words=WORDS), "unknown", "but sacct still reports RUNNING"),
        (Evidence(ME, None, entry("BRAND_NEW"), NOW - 900, words=WORDS), "unknown", "still reports BRAND_NEW"),
        (Evidence(ME, None, entry("RUNNING", overdue=True), NOW - 900), "ended", ""),
        (Evidence(ME, None, entry("PENDING"), NOW - 900), "ended", ""),
        (Evidence(ME, None, entry("PENDING")), "unknown", "squeue does not list the job"),
        (Evidence(ME, None, entry("FAILED", 900, uid=OTHER)), "unknown", "squeue does not list the job"),
        (Evidence(ME, None, entry("RUNNING", uid=OTHER), NOW - 900), "ended", ""),
        (Evidence(ME, None, entry("RUNNING", overdue=True)), "unknown", "squeue does not list the job"),
        (Evidence(ME, words="squeue printed: squeue: error: Invalid user: 1000"), "unknown", "Invalid user: 1000"),
        (Evidence(ME), "unknown", "squeue does not list the job"),
    ],
)
def test_each_conclusion_rests_on_evidence(found: Evidence, kind: str, words: str) -> None:
    state = conclude(found, ME, NOW, DELAY)
    assert (state.kind, words in state.words) == (kind, True), state
    assert (state.kind == "unknown") == bool(state.words)
    if kind == "unknown":
        assert state.in_words.startswith("since ")
    assert (state.until is not None) == ("may become visible until" in state.words)
    if state.until is not None:
        assert conclude(found, ME, state.until, DELAY).kind in ("ended", "unknown")


def test_without_a_delay_an_end_counts_at_once() -> None:
    assert conclude(Evidence(ME, entry("FAILED", 0)), ME, NOW, 0).kind == "ended"
    assert conclude(Evidence(ME, unknown_since=NOW), ME, NOW, 0).kind == "ended"
