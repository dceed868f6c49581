"""The git checkout of a workspace: its commit, and the changes since."""

from __future__ import annotations

import os
import subprocess
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from hpcbench.core.redaction import without_secrets

TIMEOUT_S = 10.0
MAX_BYTES = 1_000_000  # of a diff
MAX_NAMES = 1000  # of untracked files
_DIFF = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "HEAD")
_UNTRACKED = ("ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z")


@lru_cache(maxsize=8)
def git_state(folder: Path) -> dict[str, Any] | None:
    """Return the commit of a folder and whether it has changes, or None if it is not a checkout.

    `dirty` is None if git does not answer in TIMEOUT_S seconds.
    """
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    status = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": None if status is None else bool(status)}


@dataclass(frozen=True)
class Changes:
    """The changes since the commit."""

    diff: str  # without secrets
    cut: bool  # whether only the beginning is kept
    redacted: int  # number of redacted places
    untracked: tuple[str, ...]  # files, and folders that end with a slash, below the top of the checkout
    more_untracked: int  # that are not listed

    def as_json(self) -> dict[str, Any]:
        """Return all fields except the diff."""
        document = {name: value for name, value in vars(self).items() if name != "diff"}
        return {**document, "untracked": list(self.untracked)}


def changes(folder: Path) -> Changes | None:
    """Return the changes since the commit, or None if the folder is not a checkout.

    Untracked files are listed, not read.
    """
    top = _git(folder, "rev-parse", "--show-toplevel")
    if top is None or git_state(folder) is None:
        return None
    diff, cut = _diff(Path(top))
    text, redacted = without_secrets(diff, os.environ)
    names = [name for name in (_git(Path(top), *_UNTRACKED) or "").split("\0") if name]
    return Changes(text, cut, redacted, tuple(names[:MAX_NAMES]), max(0, len(names) - MAX_NAMES))


def _diff(top: Path) -> tuple[str, bool]:
    """Return the diff, cut at a line end after at most MAX_BYTES, and whether it was cut. Its bytes are unchanged."""
    command = ["git", "-C", str(top), *_DIFF]
    with subprocess.Popen(command, env=_variables(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as git:
        assert git.stdout is not None  # noqa: S101 - it was asked for
        timer = threading.Timer(TIMEOUT_S, git.kill)
        timer.start()
        content = git.stdout.read(MAX_BYTES + 1)
        cut = len(content) > MAX_BYTES or git.wait() != 0
        timer.cancel()
        git.kill()
    if cut:
        content = content[: content[:MAX_BYTES].rfind(b"\n") + 1]
    return content.decode("utf-8", "surrogateescape"), cut


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            env=_variables(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a child of git may keep a pipe open after git has ended
            encoding="utf-8",
            errors="replace",
            timeout=TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _variables() -> dict[str, str]:
    """Return an environment in which git writes nothing to the checkout, not even a refreshed index."""
    return {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
