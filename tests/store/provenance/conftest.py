"""A git checkout of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.store.provenance import git

Git = Callable[..., str]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """One commit, of the file `code.py`."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "code.py").write_text("first\n")
    run(folder, "init", "-q")
    run(folder, "add", ".")
    commit(folder, "first")
    git.git_state.cache_clear()
    return folder


def run(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True).stdout


def commit(folder: Path, message: str) -> None:
    run(folder, "-c", "user.name=me", "-c", "user.email=me@example.org", "commit", "-qam", message)
