"""hpcbench status, in this process, with fake Slurm commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.commands.inspect.status import status_command
from hpcbench.store.sweep import Sweep
from tests.status.queued_sweep import queued


def status(sweep: Sweep, *options: str) -> None:
    status_command.main(["study-1", *options], obj=str(sweep.paths.jobs.parents[1]), standalone_mode=False)


def test_a_search_whose_job_slurm_says_nothing_of_is_shown_with_fake_slurm_commands(
    make_sweep: Callable[..., Sweep], fake_commands: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    search = make_sweep(scheduler="local", tuning={"metric": "throughput", "scheduler": "slurm"})
    fake_commands(squeue="echo 'Unable to contact slurm controller' >&2; exit 1")
    unknown = "unknown: squeue failed: Unable to contact slurm controller"
    status(search)
    assert f"search:       {unknown}" in capsys.readouterr().out
    status(search, "--json")
    assert json.loads(capsys.readouterr().out)["search"] == unknown


@pytest.mark.parametrize(
    ("squeue", "advice"),
    [
        ("exit 0", True),
        (
            f"echo '{queued('0|RUNNING|None|n1', name='study-1.job-001', array='42')}'",
            False,
        ),  # submitted by a bare sbatch
        ("echo Unable to contact slurm controller >&2; exit 1", False),
    ],
)
def test_a_sweep_is_to_be_continued_only_if_slurm_certainly_runs_nothing_of_it_with_a_fake_squeue(
    squeue: str,
    advice: bool,
    make_sweep: Callable[..., Sweep],
    fake_commands: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    sweep = make_sweep("matrix: {seed: [1, 2]}")
    fake_commands(squeue=squeue, sacct="exit 0")
    status(sweep)
    told = capsys.readouterr().out
    assert ("hpcbench resume study-1" in told) is advice, told
