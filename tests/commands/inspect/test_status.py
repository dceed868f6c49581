"""hpcbench status, in this process, with fake Slurm commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.commands.inspect.status import status_command
from hpcbench.store.sweep import SCHEMA, Sweep
from hpcbench.store.workspace import Workspace

DESCRIPTION = {
    "schema": SCHEMA,
    "name": "sweep-1",
    "hpcbench_version": "0.1.0",
    "experiment": {"name": "experiment-1", "retry": {}},
    "axes": [],
    "git": None,
    "site": {"name": "big", "scheduler": "local"},
    "jobs": {"job-001": {"slurm": {}}},
    "tuning": {"metric": "throughput", "scheduler": "slurm"},
}


@pytest.fixture
def search(tmp_path: Path) -> Path:
    """The workspace of a search in a Slurm job that has measured nothing yet."""
    paths = Workspace(tmp_path).paths("sweep-1")
    paths.jobs.mkdir(parents=True)
    paths.runs("job-001").touch()
    paths.description.write_text(json.dumps(DESCRIPTION))
    return tmp_path


def test_a_search_whose_job_slurm_says_nothing_of_is_shown_with_fake_slurm_commands(
    search: Path, fake_commands: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    fake_commands(squeue="echo 'Unable to contact slurm controller' >&2; exit 1")
    unknown = "unknown: squeue failed: Unable to contact slurm controller"
    status_command.main(["sweep-1"], obj=str(search), standalone_mode=False)
    assert f"search:       {unknown}" in capsys.readouterr().out
    status_command.main(["sweep-1", "--json"], obj=str(search), standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["search"] == unknown


@pytest.mark.parametrize(
    ("squeue", "advice"),
    [
        ("exit 0", True),
        ("echo 'study-1.job-001|42|0|RUNNING|None|n1'", False),  # submitted by a bare sbatch
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
    status_command.main(["study-1"], obj=str(sweep.paths.jobs.parents[1]), standalone_mode=False)
    told = capsys.readouterr().out
    assert ("hpcbench resume study-1" in told) is advice, told
