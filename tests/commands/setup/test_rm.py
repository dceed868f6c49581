"""`hpcbench rm` as it is called."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.store import packs
from hpcbench.store.journal import Batch, Journal, locked
from hpcbench.store.workspace import Workspace
from tests.conftest import HPCBENCH, CommandLine
from tests.status.queued_sweep import queued

SQUEUE_DOWN = "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1"


def rendered(invoke: CommandLine, *names: str, **site: str) -> None:
    """Write sweeps that have not run, with a folder of results each."""
    (invoke.workspace / "trial.yaml").write_text(
        json.dumps({"name": "trial", "parameters": {"framework": "command", "command": "true"}})
    )
    for name in names:
        invoke("sweep", "trial.yaml", "--site", invoke.site(**site), "--render-only", "--name", name)
        (invoke.workspace / "results" / name / "records").mkdir(parents=True, exist_ok=True)


def left(invoke: CommandLine) -> list[str]:
    return sorted(path.name for kind in ("jobs", "results") for path in (invoke.workspace / kind).iterdir())


def test_sweeps_are_deleted_with_all_of_their_files(invoke: CommandLine) -> None:
    rendered(invoke, "one", "two", "three")
    told = invoke("rm", "one", "two", "one", "--yes").stderr
    assert told.count("  one: ") == 1
    assert "0 runs with a result, no archive here" in told
    assert "deleted one, two: " in told
    assert "MB freed" in told
    assert left(invoke) == ["three", "three"]
    assert "sweep 'one' not found" in invoke("rm", "one", "--yes", expect=2).stderr


def test_a_prefix_or_an_experiment_needs_an_answer(invoke: CommandLine) -> None:
    rendered(invoke, "one-10")
    for name in ("one-1", "trial", "latest"):
        error = invoke("rm", name, "--yes", expect=2).stderr
        assert f"'{name}' is not the full name of a sweep, which --yes requires" in error
        assert "hpcbench rm one-10 --yes" in error
    assert "confirmation requires a terminal" in invoke("rm", "one-10", expect=2).stderr
    assert "missing argument SWEEP" in invoke("rm", "--yes", expect=2).stderr
    assert left(invoke) == ["one-10", "one-10"]


@pytest.mark.integration
@pytest.mark.parametrize(("answer", "kept"), [("n\n", True), ("y\n", False)])
def test_it_asks_on_a_terminal(invoke: CommandLine, answer: str, kept: bool) -> None:
    rendered(invoke, "one")
    terminal, inner = pty.openpty()
    os.write(terminal, answer.encode())
    command = [str(HPCBENCH), "rm", "trial"]  # the latest sweep of the experiment
    done = subprocess.run(
        command, cwd=invoke.workspace, env=invoke.variables, stdin=inner, capture_output=True, text=True, timeout=60
    )
    os.close(terminal)
    os.close(inner)
    assert "Delete one (" in done.stderr
    assert (left(invoke) == ["one", "one"]) == kept
    assert ("nothing was changed" in done.stderr) == kept
    assert done.returncode == 0


def test_a_sweep_in_use_is_not_deleted(invoke: CommandLine) -> None:
    rendered(invoke, "one")
    with locked(invoke.workspace / "jobs" / "one"):
        assert "has been working on this sweep" in invoke("rm", "one", "--yes", expect=2).stderr
    assert left(invoke) == ["one", "one"]


def test_a_sweep_that_is_a_link_is_not_deleted(invoke: CommandLine, tmp_path: Path) -> None:
    rendered(invoke, "one")
    jobs = invoke.workspace / "jobs" / "one"
    jobs.rename(tmp_path / "elsewhere")
    jobs.symlink_to(tmp_path / "elsewhere")
    assert "a link" in invoke("rm", "one", "--yes", expect=2).stderr
    assert (tmp_path / "elsewhere" / "sweep.json").is_file()


@pytest.fixture
def submitted(invoke: CommandLine) -> CommandLine:
    """A sweep whose array 7 Slurm has accepted."""
    rendered(invoke, "queued", scheduler="slurm")
    paths = Workspace(invoke.workspace).paths("queued")
    packs.write(paths.packs("job-001.aa"), packs.read(paths.packs("job-001")))
    journal = Journal.read(paths)
    journal.submitting(Batch(paths, "job-001.aa"))
    journal.submitted(journal.batches[0], "7")
    return invoke


def test_a_sweep_with_pending_runs_is_not_deleted(submitted: CommandLine, fake_commands: Callable[..., Path]) -> None:
    fake_commands(squeue=f"echo '{queued('0|PENDING|Priority|', name='queued.job-001.aa')}'")
    error = submitted("rm", "queued", "--yes", expect=2).stderr
    assert "may be pending or running" in error
    assert "hpcbench cancel queued" in error
    assert left(submitted) == ["queued", "queued"]


def test_without_an_answer_of_slurm_nothing_is_deleted(
    submitted: CommandLine, fake_commands: Callable[..., Path]
) -> None:
    fake_commands(squeue=SQUEUE_DOWN)
    error = submitted("rm", "queued", "--yes", expect=2).stderr
    assert "not deleted, because its jobs may be active" in error
    assert "try again when Slurm responds" in error
    assert left(submitted) == ["queued", "queued"]
