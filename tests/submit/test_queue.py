from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.errors import UserError
from hpcbench.submit import queue
from hpcbench.submit.queue import QueueEntry, ask, find_by_name

Fake = Callable[..., Path]


def says(*lines: str) -> str:
    return "cat <<'END'\n" + "\n".join(lines) + "\nEND"


def test_elements_are_found_in_squeue_with_fake_slurm_commands(fake_commands: Fake) -> None:
    folder = fake_commands(
        squeue=says("7|0|RUNNING|None|n1", "7|1|PENDING|Priority|", "8|0|RUNNING|None|n2", "9|N/A|RUNNING|None|n3"),
        sacct="exit 1",
    )
    assert ask({("7", 0), ("7", 1)}) == {
        ("7", 0): QueueEntry("RUNNING", False, "None", "n1"),
        ("7", 1): QueueEntry("PENDING", False, "Priority", ""),
    }
    assert not (folder / "sacct.called").exists()  # nothing has left the queue: one question is enough


def test_what_left_the_queue_is_found_in_sacct_with_fake_slurm_commands(fake_commands: Fake) -> None:
    folder = fake_commands(
        squeue=says("7|3|RUNNING|None|n1"),
        sacct=says(
            "7_0|COMPLETED|n1",
            "7_1|CANCELLED by 0|n2",
            "7_2|OUT_OF_MEMORY|n[1-2]",
            "7_3|PENDING|None assigned",  # squeue knows better
            "7_[4-5,8%2]|PENDING|None assigned",
            "8|FAILED|n1",
        ),
    )
    found = ask({("7", index) for index in range(9)})
    assert {index: entry.state for (_, index), entry in found.items()} == {
        0: "COMPLETED",
        1: "CANCELLED by 0",
        2: "OUT_OF_MEMORY",
        3: "RUNNING",
        4: "PENDING",
        5: "PENDING",
        8: "PENDING",
    }
    assert found["7", 2].nodes == "n[1-2]"
    assert "--jobs=7" in (folder / "sacct.called").read_text()


@pytest.mark.parametrize("sacct", ["echo 'Slurm accounting storage is disabled' >&2; exit 1", "exit 0", None])
def test_a_site_without_accounting_has_just_no_more_to_say_with_fake_slurm_commands(
    sacct: str | None, fake_commands: Fake
) -> None:
    fake_commands(squeue=says("7|0|RUNNING|None|n1"), **({"sacct": sacct} if sacct else {}))
    assert list(ask({("7", 0), ("7", 1)})) == [("7", 0)]


@pytest.mark.parametrize(
    ("squeue", "words"),
    [
        ("echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1", "Unable to contact slurm"),
        ("exec sleep 10", "gave no answer"),
        (None, "squeue was not found"),
    ],
)
def test_no_answer_is_not_taken_for_an_empty_queue_with_fake_slurm_commands(
    squeue: str | None, words: str, fake_commands: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "TIMEOUT_S", 0.3)
    fake_commands(sacct=says("7_0|COMPLETED|n1"), **({"squeue": squeue} if squeue else {}))
    with pytest.raises(UserError, match=words):
        ask({("7", 0)})


def test_nothing_is_asked_where_nothing_was_submitted_with_fake_slurm_commands(fake_commands: Fake) -> None:
    fake_commands()
    assert ask([]) == {}


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
    assert find_by_name("study-1.job-001.ab12") == found
    assert "--name=study-1.job-001.ab12" in (folder / "squeue.called").read_text()
