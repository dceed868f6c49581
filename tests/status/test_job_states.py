"""How Slurm is asked about jobs that squeue does not list."""

from __future__ import annotations

import pytest

from hpcbench.slurm.job_lookup import Lookup
from hpcbench.status import job_states
from hpcbench.status.progress import UNKNOWN
from tests.status.queued_sweep import Cluster


def lookups(monkeypatch: pytest.MonkeyPatch, answer: Lookup, of_array: Lookup) -> list[str]:
    """Answer questions about elements and arrays; return the IDs that are requested."""
    asked: list[str] = []

    def look_up(job_id: str, cluster: str | None) -> Lookup:
        asked.append(job_id)
        return answer if "_" in job_id else of_array

    monkeypatch.setattr(job_states, "look_up", look_up)
    return asked


LATE = Lookup(None, False, "scontrol did not respond within 60 s", has_timed_out=True)
KNOWN = Lookup(None, False, "`scontrol show job 7` printed: ...")


@pytest.mark.parametrize(("of_array", "expected"), [(LATE, ["7"]), (KNOWN, ["7", "7_0"])])
def test_after_a_timeout_nothing_more_is_asked_as_each_question_would_take_as_long(
    of_array: Lookup, expected: list[str], cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = lookups(monkeypatch, LATE, of_array)
    progress = cluster.query()
    assert asked == expected
    assert {run.state for run in progress.runs} == {UNKNOWN}
    assert all(run.reason.endswith("did not respond within 60 s") for run in progress.runs)
