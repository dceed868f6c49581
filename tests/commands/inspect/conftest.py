"""A small sweep of a command that has really run, for the commands that read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import CommandLine

COMMAND = "echo speed is {{ speed }}; echo rate={{ speed }}; [ {{ speed }} -lt 3 ] || exit 1"


@pytest.fixture(scope="session")
def small_sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace of the sweep `small` of the experiment `trial`: the case with speed 3 has failed."""
    command_line = CommandLine(tmp_path_factory.mktemp("small"))
    experiment = {
        "name": "trial",
        "parameters": {"framework": "command", "command": COMMAND},
        "matrix": {"speed": [1, 2, 3]},
        "metrics": {"rate": {"regex": "rate=(.*)", "unit": "it/s"}, "depth": {"regex": "speed is (.*)"}},
        "measure": {"repetitions": 1, "retries": 0},
    }
    (command_line.workspace / "trial.yaml").write_text(json.dumps(experiment))
    command_line("sweep", "trial.yaml", "--local", "--no-fail-fast", "--name", "small", expect=1)
    return command_line.workspace


@pytest.fixture
def small(small_sweep: Path, invoke: CommandLine) -> CommandLine:
    """The command line in a copy of the workspace of `small_sweep`."""
    shutil.copytree(small_sweep, invoke.workspace, dirs_exist_ok=True, symlinks=True)
    return invoke
