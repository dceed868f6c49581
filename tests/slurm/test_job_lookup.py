from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.slurm import client
from hpcbench.slurm.job_lookup import look_up

Fake = Callable[..., Path]
SHOWN = (
    "JobId=15000001 ArrayJobId=7 ArrayTaskId=3 JobName=x UserId=root(0) GroupId=root(0) JobState={} Reason=None "
    "StartTime=2026-03-11T10:00:00 EndTime=2026-03-11T11:00:00 NodeList={} Command=/x.sh JobState=FAKED"
)


@pytest.mark.parametrize(
    ("scontrol", "words"),
    [
        ("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1", "Invalid job id specified"),
        ("echo 'Job 7_3 not found'; exit 1", "Job 7_3 not found"),
        ("echo 'Job 7_3 not found'; echo 'Maintenance on Monday'; exit 1", "Job 7_3 not found"),
        ("echo Welcome; echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1", "Invalid job id"),
    ],
)
def test_slurm_says_that_it_does_not_know_an_id_with_fake_slurm_commands(
    scontrol: str, words: str, fake_commands: Fake
) -> None:
    folder = fake_commands(scontrol=scontrol)
    answer = look_up("7_3", None)
    assert answer.is_unknown
    assert answer.entry is None
    assert answer.words.startswith("`scontrol show job 7_3` printed: ")
    assert words in answer.words
    assert "--all" in (folder / "scontrol.called").read_text().splitlines()


@pytest.mark.parametrize(
    "scontrol",
    [
        "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1",
        "printf 'cached\\nslurm_load_jobs error: Invalid job id specified\\n' >&2; exit 1",
        "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 0",
        "echo 'Job 7_4 not found'; exit 1",
        "echo 'Job 7_3 not found'; echo 'error: timed out' >&2; exit 1",
        "exit 1",
        "exit 0",
        "exec sleep 5",
    ],
)
def test_any_other_answer_does_not_mean_that_the_job_is_gone_with_fake_slurm_commands(
    scontrol: str, fake_commands: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "TIMEOUT_S", 0.3)
    fake_commands(scontrol=scontrol)
    answer = look_up("7_3", None)
    assert not answer.is_unknown
    assert answer.entry is None
    assert answer.words


@pytest.mark.parametrize(
    ("state", "nodes", "started", "has_end"),
    [("RUNNING", "n1", True, False), ("FAILED", "n1", True, True), ("CANCELLED", "(null)", False, True)],
)
def test_a_job_that_it_knows_is_an_entry_with_fake_slurm_commands(
    state: str, nodes: str, started: bool, has_end: bool, fake_commands: Fake
) -> None:
    fake_commands(scontrol=f"echo '{SHOWN.format(state, nodes)}'")
    entry = look_up("7_3", None).entry
    assert entry is not None
    assert (entry.state, entry.uid, entry.started, entry.ended_at is not None) == (state, 0, started, has_end)
