"""hpcbench resume, in this process, with fake Slurm commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.commands.run.resume import resume_command
from hpcbench.errors import UserError
from hpcbench.store import packs
from hpcbench.store.journal import Batch, Journal
from hpcbench.store.sweep import Sweep

SEARCH = {"metric": "throughput", "scheduler": "slurm"}


DOWN = "echo 'slurm_load_ctl_conf error: Unable to contact slurm controller' >&2; exit 1"


def resume(sweep: Sweep) -> None:
    resume_command.main([sweep.paths.name], obj=str(sweep.paths.jobs.parents[1]), standalone_mode=False)


@pytest.mark.parametrize("settings", [{}, {"scheduler": "local", "tuning": SEARCH}])
def test_a_refusal_does_not_advise_the_command_that_it_refuses_with_fake_slurm_commands(
    settings: dict[str, Any],
    make_sweep: Callable[..., Sweep],
    fake_commands: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    sweep = make_sweep("matrix: {seed: [1, 2]}", **settings)
    batch = Batch(sweep.paths, "search.beef" if settings else "job-001.beef", cluster="trial")
    packs.write(sweep.paths.packs(batch.name), ((0,),))
    journal = Journal(sweep.paths)
    journal.submitting(batch)
    journal.submitted(batch, "42")
    fake_commands(sbatch="", srun="", scancel="", squeue="", scontrol="echo 'ClusterName = trialb'")
    with pytest.raises(UserError, match="belongs to cluster 'trial'"):
        resume(sweep)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("settings", [{}, {"scheduler": "local", "tuning": SEARCH}])
def test_a_resume_without_slurm_is_repeated_with_a_fake_scontrol(
    settings: dict[str, Any],
    make_sweep: Callable[..., Sweep],
    fake_commands: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    sweep = make_sweep("matrix: {seed: [1, 2]}", **settings)
    fake_commands(sbatch="", srun="", scancel="", squeue="", scontrol=DOWN)
    with pytest.raises(UserError, match="scontrol failed: .* Unable to contact") as caught:
        resume(sweep)
    assert caught.value.hint == "nothing was submitted; when Slurm responds, run: hpcbench resume study-1"
    assert capsys.readouterr().err == ""
