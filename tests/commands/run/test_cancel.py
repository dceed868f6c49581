"""hpcbench cancel, in this process, with fake Slurm commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.commands.run.cancel import cancel_command
from hpcbench.errors import UserError
from hpcbench.store.journal import Batch, Journal
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import SweepPaths
from tests.status.queued_sweep import queued, submit


@pytest.fixture
def paths(make_sweep: Callable[..., Sweep]) -> SweepPaths:
    """A search whose job is being submitted: the journal has the intent."""
    found = make_sweep(scheduler="local", tuning={"metric": "throughput", "scheduler": "slurm"}).paths
    Journal(found).submitting(Batch(found, "search.beef"))
    return found


DOWN = "echo 'slurm_load_ctl_conf error: Unable to contact slurm controller' >&2; exit 1"


def cancel(paths: SweepPaths) -> None:
    cancel_command.main(["study-1"], obj=str(paths.jobs.parents[1]), standalone_mode=False)


def test_a_search_that_another_hpcbench_is_submitting_is_not_given_up_with_fake_slurm_commands(
    paths: SweepPaths, fake_commands: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    fake_commands(squeue="exit 0", sacct="exit 0")
    cancel(paths)
    assert "cancelled 0 jobs" in capsys.readouterr().err
    assert [batch.name for batch in Journal.read(paths).accepted] == ["search.beef"]


def test_the_job_of_a_search_is_cancelled_though_the_journal_lacks_its_id_with_fake_slurm_commands(
    paths: SweepPaths, fake_commands: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = fake_commands(
        squeue=f"echo '{queued('0|RUNNING|None|n1', name='study-1.search.beef', array='42')}'", scancel="exit 0"
    )
    cancel(paths)
    assert "cancelled 1 job" in capsys.readouterr().err
    assert (folder / "scancel.called").read_text().split() == ["42"]


def test_a_local_sweep_is_not_cancelled_from_another_shell(make_sweep: Callable[..., Sweep]) -> None:
    with pytest.raises(UserError, match="press Ctrl-C where it runs"):
        cancel(make_sweep(scheduler="local").paths)


@pytest.mark.parametrize("settings", [{}, {"scheduler": "local", "tuning": {"scheduler": "slurm"}}])
def test_a_cancel_without_slurm_is_repeated_with_a_fake_scontrol(
    settings: dict[str, Any], make_sweep: Callable[..., Sweep], fake_commands: Callable[..., Path]
) -> None:
    sweep = make_sweep(**settings)
    fake_commands(scontrol=DOWN)
    with pytest.raises(UserError, match=r"scontrol failed: .* Unable to contact") as caught:
        cancel(sweep.paths)
    assert caught.value.hint == (
        "nothing was cancelled, and the jobs continue; when Slurm responds, run: hpcbench cancel study-1"
    )


def test_a_cancel_that_fails_between_two_jobs_is_repeated_with_fake_slurm_commands(
    paths: SweepPaths, fake_commands: Callable[..., Path]
) -> None:
    fake_commands(squeue=f"echo '{queued('0|RUNNING|None|n1', name='study-1.search.beef', array='42')}'", scancel=DOWN)
    with pytest.raises(UserError, match="scancel failed") as caught:
        cancel(paths)
    assert caught.value.hint == (
        "some jobs may not have been cancelled and may continue; when Slurm responds, run: hpcbench cancel study-1"
    )


def test_a_second_cancel_does_not_count_what_is_still_ending_with_fake_slurm_commands(
    make_sweep: Callable[..., Sweep], fake_commands: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = make_sweep("matrix: {seed: [1, 2]}")
    submit(sweep, (0,), (1,))
    name = "study-1.job-001.beef"
    going = queued("0|RUNNING|None|n1", "1|RUNNING|None|n1", name=name, array="42")
    folder = fake_commands(squeue=f"cat <<'END'\n{going}\nEND", sacct="", scancel="")
    cancel(sweep.paths)
    assert capsys.readouterr().err == "cancelled 2 runs in 1 array\n"
    ending = going.replace("RUNNING", "COMPLETING")
    fake_commands(squeue=f"cat <<'END'\n{ending}\nEND")
    cancel(sweep.paths)
    told = capsys.readouterr().err
    assert told == ("already cancelled: 2 runs; Slurm may still be ending their jobs\ncancelled 0 runs in 0 arrays\n")
    assert (folder / "scancel.called").read_text().split() == ["42", "42"], "Slurm may have lost the first request"
