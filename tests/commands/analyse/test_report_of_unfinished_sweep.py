"""hpcbench report of a sweep that has not ended, in this process, with fake Slurm commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.commands.analyse.report import report_command
from hpcbench.store.sweep import Sweep
from tests.status.queued_sweep import queued, submit


def test_a_case_that_slurm_will_not_start_has_the_reason_with_fake_slurm_commands(
    make_sweep: Callable[..., Sweep], fake_commands: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = make_sweep("measure: {repetitions: 2}")
    submit(sweep, (0, 1))
    pending = queued("0|PENDING|QOSMaxCpuPerJobLimit|", name="study-1.job-001.beef", array="42")
    fake_commands(squeue=f"echo '{pending}'", sacct="")
    report_command.main(["study-1"], obj=str(sweep.paths.jobs.parents[1]), standalone_mode=False)
    told = " ".join(capsys.readouterr().out.split())
    assert "it exceeds the QOS's limit on CPUs per job: it will not start (QOSMaxCpuPerJobLimit)" in told
    assert "start a new sweep, or explain why they are left out" in told
    assert "hpcbench resume" not in told
