"""hpcbench resume, in this process, with fake Slurm commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.commands.run.resume import resume_command
from hpcbench.core.start_rules import failure_limit
from hpcbench.core.start_rules.failure_limit import FailureLimit
from hpcbench.errors import UserError
from hpcbench.store.sweep import Sweep
from tests.status.queued_sweep import queued, submit

SEARCH = {"metric": "throughput", "scheduler": "slurm"}


DOWN = "echo 'slurm_load_ctl_conf error: Unable to contact slurm controller' >&2; exit 1"


def resume(sweep: Sweep) -> None:
    resume_command.main([sweep.paths.name], obj=str(sweep.paths.jobs.parents[1]), standalone_mode=False)


of_sweep_and_search = pytest.mark.parametrize("settings", [{}, {"scheduler": "local", "tuning": SEARCH}])


@of_sweep_and_search
def test_a_refusal_does_not_advise_the_command_that_it_refuses_with_fake_slurm_commands(
    settings: dict[str, Any],
    make_sweep: Callable[..., Sweep],
    fake_commands: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    sweep = make_sweep("matrix: {seed: [1, 2]}", **settings)
    submit(sweep, (0,), name="search.beef" if settings else "job-001.beef", cluster="trial")
    fake_commands(sbatch="", srun="", scancel="", squeue="", scontrol="echo 'ClusterName = trialb'")
    with pytest.raises(UserError, match="belongs to cluster 'trial'"):
        resume(sweep)
    assert capsys.readouterr().err == ""


@of_sweep_and_search
def test_a_resume_without_slurm_is_repeated_with_a_fake_scontrol(
    settings: dict[str, Any],
    make_sweep: Callable[..., Sweep],
    fake_commands: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    sweep = make_sweep("matrix: {seed: [1, 2]}", **settings)
    fake_commands(sbatch="", srun="", scancel="", squeue="", scontrol=DOWN)
    with pytest.raises(UserError, match=r"scontrol failed: .* Unable to contact") as caught:
        resume(sweep)
    assert caught.value.hint == "nothing was submitted; when Slurm responds, run: hpcbench resume study-1"
    assert capsys.readouterr().err == ""


def test_a_resume_without_slurm_keeps_the_limit_of_failures_with_a_fake_scontrol(
    make_sweep: Callable[..., Sweep], fake_commands: Callable[..., Path]
) -> None:
    sweep = make_sweep("matrix: {seed: [1, 2]}")
    failure_limit.begin(FailureLimit(max_failures=1), str(sweep.paths.results))
    fake_commands(sbatch="", srun="", scancel="", squeue="", scontrol=DOWN)
    with pytest.raises(UserError, match="Unable to contact"):
        resume(sweep)
    assert (sweep.paths.results / failure_limit.FOLDER / "limit.json").is_file()


def test_jobs_that_will_not_start_are_reported_with_fake_slurm_commands(
    make_sweep: Callable[..., Sweep], fake_commands: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = make_sweep("measure: {repetitions: 2}")
    submit(sweep, (0, 1))
    pending = queued("0|PENDING|QOSMaxCpuPerJobLimit|", name="study-1.job-001.beef", array="42")
    fake_commands(sbatch="", srun="", scancel="", sacct="", squeue=f"echo '{pending}'")
    resume(sweep)
    assert capsys.readouterr().err == (
        "study-1: 0 runs to resume\n"
        "left in the queue: 2 runs, whose job does not start: it exceeds the QOS's limit on CPUs per job: "
        "it will not start (QOSMaxCpuPerJobLimit); request less in the experiment, or check slurm.account and "
        "slurm.qos: "
        "start a new sweep\n"
    )
