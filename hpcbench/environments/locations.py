"""The folders of built environments: envs/NAME of the workspace, or NAME in the folder HPCBENCH_ENVS."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hpcbench.config.names import check_name
from hpcbench.errors import UserError
from hpcbench.store.workspace import Workspace
from hpcbench.util.home import expanded
from hpcbench.util.locking.flock import exclusive

VARIABLE = "HPCBENCH_ENVS"
_ODD = re.compile(r"[\x00-\x1f\x7f:]")  # a colon separates entries of PATH


@dataclass(frozen=True)
class EnvironmentDir:
    """The folder of an environment: a virtual environment with three additional files."""

    name: str
    folder: Path

    @property
    def python(self) -> Path:
        """Return the path of the Python of the environment."""
        return self.folder / "bin" / "python"

    @property
    def marker(self) -> Path:
        """Return the path of the marker, which is written last and declares the environment complete."""
        return self.folder / "hpcbench.json"

    @property
    def progress(self) -> Path:
        """Return the path of the file with the finished steps during a build."""
        return self.folder / "hpcbench-building.json"

    @property
    def log(self) -> Path:
        """Return the path of the log of the build."""
        return self.folder / "build.log"

    @property
    def exists(self) -> bool:
        """Return whether hpcbench has created the environment, complete or not."""
        return self.marker.exists() or self.progress.exists()

    @contextmanager
    def locked(self) -> Iterator[int]:
        """Hold the lock of the environment; yield its file descriptor, which the programs of a build inherit.

        Raise UserError if another build or removal holds it.
        """
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        taken = UserError(
            f"'{self.name}' is being built or removed by another hpcbench",
            where=str(self.folder),
            hint="wait until it has finished; pip or a compiler of a killed build may still be running",
        )
        with exclusive(self.folder.parent / f".{self.name}.lock", taken) as lock:
            yield lock


def environments_folder(workspace: Workspace) -> Path:
    """Return the folder of all built environments. Raise UserError if its path is not valid in PATH."""
    named = os.environ.get(VARIABLE)
    folder = expanded(named).absolute() if named else workspace.root / "envs"
    if _ODD.search(str(folder)):
        raise UserError(
            "the folder of environments has a colon or a control character in its path",
            where=str(folder),
            hint="set HPCBENCH_ENVS to another directory for environments",
        )
    return folder


def environment_dir(workspace: Workspace, name: str) -> EnvironmentDir:
    """Return the folder of the environment `name`, which need not exist. Raise UserError for an invalid name."""
    try:
        check_name(name)
    except ValueError as error:
        raise UserError(str(error), where=name) from error
    return EnvironmentDir(name, environments_folder(workspace) / name)


def environment_dirs(workspace: Workspace) -> list[EnvironmentDir]:
    """Return all existing environments, complete or not, sorted by name."""
    found = [EnvironmentDir(path.name, path) for path in sorted(environments_folder(workspace).glob("[!.]*"))]
    return [each for each in found if each.exists]
