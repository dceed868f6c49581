"""Waiting for the jobs of a sweep: what is worth asking again, and what is not."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from hpcbench.commands import waiting
from hpcbench.config.parameters import Parameters
from hpcbench.errors import UserError
from hpcbench.node import outcomes, verdict
from hpcbench.node import record as node_record
from hpcbench.node.planned import PlannedRun
from hpcbench.submit.sweep import Sweep
from hpcbench.workspace import Workspace

SWEEP = {
    "name": "sweep-1",
    "hpcbench_version": "0.1.0",
    "experiment": {"name": "experiment-1"},
    "site": {"name": "cluster", "scheduler": "slurm"},
    "git": None,
}
ANSWERS_THE_SECOND_TIME = '[ -e asked ] && exit; : > asked; echo "Unable to contact slurm controller" >&2; exit 1'


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited between questions; nothing is waited for here, and not more than three times."""
    paused: list[float] = []

    def sleep(seconds: float) -> None:
        paused.append(seconds)
        assert len(paused) < 3, "it asks for ever"

    monkeypatch.setattr(waiting, "time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic))
    return paused


@pytest.fixture
def measured(tmp_path: Path) -> Callable[..., Sweep]:
    """A sweep on Slurm with one repetition, which has failed and whose record has this schema."""

    def make(schema: int = node_record.SCHEMA) -> Sweep:
        paths = Workspace(tmp_path).paths("sweep-1")
        paths.jobs.mkdir(parents=True)
        run = PlannedRun("0" * 12, 0, 0, 0, Parameters(framework="pytorch", model="mlp").planned(), {}, {})
        paths.runs("job-1").write_text(run.as_line() + "\n")
        outcome = verdict.Outcome(outcomes.FAILED, {"message": "it broke"})
        made = node_record.assemble(run, SWEEP, "job-1", 0, [], outcome, 1.0, {})
        node_record.append({**made, "attempt": 1, "schema": schema}, str(paths.record("job-1", 0)))
        return Sweep(paths, {**SWEEP, "jobs": {"job-1": {"runs": 1}}})

    return make


def test_a_controller_that_gives_no_answer_is_asked_again_with_a_fake_squeue(
    measured: Callable[..., Sweep], pauses: list[float], fake_commands: Callable[..., Path]
) -> None:
    fake_commands(squeue=ANSWERS_THE_SECOND_TIME)
    assert waiting.wait_for(measured()) == 1
    assert pauses == [waiting.LONGEST_S]


def test_a_record_that_cannot_be_read_ends_the_waiting_with_a_fake_squeue(
    measured: Callable[..., Sweep], pauses: list[float], fake_commands: Callable[..., Path]
) -> None:
    fake_commands(squeue="exit 0")
    with pytest.raises(UserError, match="the record has schema 99"):
        waiting.wait_for(measured(schema=99))
    assert pauses == []
