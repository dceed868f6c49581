"""An sbatch that hangs, that outlives its hpcbench, or that must not be called any more; sbatch itself is faked."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.errors import UserError
from hpcbench.store.journal import Journal, locked
from hpcbench.store.sweep import Sweep
from hpcbench.submit import slurm_executor
from hpcbench.util.locking.lease import Lease

Fake = Callable[..., Path]
MakeSweep = Callable[..., Sweep]
OTHERS = {"srun": "exit 0", "squeue": "exit 0", "scancel": "exit 0"}
TIMEOUT = shutil.which("timeout")


def submit(sweep: Sweep, lease: Lease) -> None:
    slurm_executor.submit(sweep, slurm_executor.Array("job-001", ((0,),)), Journal(sweep.paths), lease)


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "], ids=["ends when told to", "must be killed"])
def test_an_sbatch_without_an_answer_is_ended_and_leaves_its_intent_with_fake_slurm_commands(
    trap: str, fake_commands: Fake, make_sweep: MakeSweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm_executor, "SBATCH_LIMIT_S", 1)
    monkeypatch.setattr(slurm_executor, "KILL_AFTER_S", 1)
    folder = fake_commands(sbatch=f"{trap}sleep 3; sleep 3; sleep 3; echo 42; echo > ended", **OTHERS)
    (folder / "timeout").symlink_to(str(TIMEOUT))
    sweep = make_sweep()
    with locked(sweep.paths.jobs) as lease, pytest.raises(UserError) as caught:
        submit(sweep, lease)
    assert caught.value.what == "sbatch did not respond for job-001 within 1 s"
    assert "hpcbench resume study-1 (it submits no job a second time)" in caught.value.hint
    (batch,) = Journal.read(sweep.paths).batches
    assert (batch.slurm_id, batch.rejected) == (None, False)
    assert not (folder / "ended").exists()


@pytest.mark.integration
def test_an_sbatch_that_outlives_hpcbench_keeps_others_out_until_it_has_its_answer_with_fake_slurm_commands(
    fake_commands: Fake, make_sweep: MakeSweep, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = fake_commands(sbatch="echo > started; sleep 2; echo > answered; echo 42", **OTHERS)
    (folder / "timeout").symlink_to(str(TIMEOUT))
    sweep = make_sweep()
    program = (
        "import sys; from pathlib import Path\n"
        "from hpcbench.store.journal import Journal, locked; from hpcbench.store.sweep import load\n"
        "from hpcbench.store.workspace import Workspace; from hpcbench.submit import slurm_executor as slurm\n"
        "sweep = load(Workspace(Path(sys.argv[1])).paths('study-1'))\n"
        "with locked(sweep.paths.jobs) as lease:\n"
        "    slurm.submit(sweep, slurm.Array('job-001', ((0,),)), Journal(sweep.paths), lease)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(sweep.paths.jobs.parents[1])]) as hpcbench:
        while not (folder / "started").exists():
            assert hpcbench.poll() is None
            time.sleep(0.01)
        hpcbench.kill()
    assert not (folder / "answered").exists()
    with locked(sweep.paths.jobs):
        assert (folder / "answered").exists()
    assert "waiting for processes of an earlier hpcbench" in capfd.readouterr().err


def test_nothing_is_submitted_once_another_one_has_taken_over_with_fake_slurm_commands(
    fake_commands: Fake, make_sweep: MakeSweep
) -> None:
    folder = fake_commands(sbatch="echo 42", **OTHERS)
    sweep = make_sweep()
    with locked(sweep.paths.jobs) as lease:
        (sweep.paths.jobs / ".lock.holder").unlink()
        with pytest.raises(UserError, match="lost the lock on this sweep"):
            submit(sweep, lease)
    assert not (folder / "sbatch.called").exists()
    assert not sweep.paths.journal.exists()
