"""hpcbench cancel, in this process, with fake Slurm commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.commands.run.cancel import cancel_command
from hpcbench.errors import UserError
from hpcbench.store.journal import Batch, Journal
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import SweepPaths
from tests.status.queued_sweep import queued


@pytest.fixture
def paths(make_sweep: Callable[..., Sweep]) -> SweepPaths:
    """A search whose job is being submitted: the journal has the intent."""
    found = make_sweep(scheduler="local", tuning={"metric": "throughput", "scheduler": "slurm"}).paths
    Journal(found).submitting(Batch(found, "search.beef"))
    return found


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
