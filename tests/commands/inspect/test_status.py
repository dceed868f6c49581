"""hpcbench status, in this process, with fake Slurm commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.commands.inspect.status import status_command
from hpcbench.store import packs
from hpcbench.store.journal import Batch, Journal
from hpcbench.store.sweep import Sweep
from tests.status.queued_sweep import queued, submit


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


@pytest.mark.parametrize(
    ("reason", "is_told", "is_lasting"),
    [
        ("Batch job submission failed: Invalid account or account/partition combination specified", True, True),
        ("Batch job submission failed: Unspecified error", True, False),
        ("AssocMaxSubmitJobLimit Batch job submission failed: Job violates accounting/QOS policy", False, False),
        ("hpcbench died before Slurm accepted it", False, False),
    ],
)
def test_a_refused_job_is_not_resumed_unless_the_queue_was_full_with_a_fake_squeue(
    reason: str,
    is_told: bool,
    is_lasting: bool,
    make_sweep: Callable[..., Sweep],
    fake_commands: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    sweep = make_sweep("measure: {repetitions: 2}")
    fake_commands(squeue="", sacct="")
    batch = Batch(sweep.paths, "job-001.beef")
    packs.write(sweep.paths.packs(batch.name), ((0,),))
    journal = Journal(sweep.paths)
    journal.submitting(batch)
    journal.rejected(batch, reason)
    status(sweep)
    told = capsys.readouterr().out
    assert ("1 planned: sbatch refused it at 20" in told) is is_told
    assert (reason.removeprefix("Batch job submission failed") in told) is is_told
    assert ("to run 2 repetitions: hpcbench resume study-1" in told) is not is_lasting
    assert ("1 run would fail again: correct the experiment" in told) is is_lasting
    submit(sweep, (0,))
    status(sweep)
    assert "sbatch refused" not in capsys.readouterr().out, "a later sbatch succeeded"
