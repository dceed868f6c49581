"""The words that start a task of a run, and back."""

from __future__ import annotations

import pytest

from hpcbench.core.rank_command import RankTask

TASK = RankTask("/s/node.pyz", "/s/job-001.jsonl", 7, "/r/running/7-1-0-1", "/r/environments/own.json", 300.0)


@pytest.mark.parametrize("limit_s", [300.0, 0.0, None])
def test_a_task_is_read_from_its_words_as_it_was(limit_s: float | None) -> None:
    task = TASK._replace(limit_s=limit_s)
    assert RankTask.parse(task.words()) == task


def test_the_launcher_of_a_command_remains_one_word() -> None:
    task = TASK._replace(launcher="mpirun --bind-to core 'a b'")
    assert RankTask.parse(task.words()) == task


def test_a_task_has_no_time_limit_below_zero() -> None:
    assert RankTask.parse(TASK._replace(limit_s=-5.0).words()).limit_s == 0.0


@pytest.mark.parametrize("words", [[], ["node.pyz", "rank"], ["node.pyz", "rank", "job.jsonl", "x", "--scratch", "s"]])
def test_other_words_are_no_task(words: list[str]) -> None:
    with pytest.raises((ValueError, KeyError)):
        RankTask.parse(words)
