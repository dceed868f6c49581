"""Where built environments lie: envs/NAME of the workspace, or the folder that HPCBENCH_ENVS names."""

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
from hpcbench.util.locking.flock import exclusive

VARIABLE = "HPCBENCH_ENVS"
_ODD = re.compile(r"[\x00-\x1f\x7f:]")  # a colon would end an entry of PATH


@dataclass(frozen=True)
class Place:
    """The files of one environment. The folder is a virtual environment with three files of ours in it."""

    name: str
    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def marker(self) -> Path:
        """Written last: an environment that has it is whole."""
        return self.folder / "hpcbench.json"

    @property
    def progress(self) -> Path:
        """The steps that are done, while it is being built."""
        return self.folder / "hpcbench-building.json"

    @property
    def log(self) -> Path:
        return self.folder / "build.log"

    @property
    def exists(self) -> bool:
        """Whether something of ours lies here, whole or not."""
        return self.marker.exists() or self.progress.exists()

    @contextmanager
    def locked(self) -> Iterator[int]:
        """One build or removal at a time; gives the lock's file descriptor, for the programs of the build.

        Raises UserError where another one is under way.
        """
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        taken = UserError(
            f"'{self.name}' is being built or removed already",
            where=str(self.folder),
            hint="wait until that is done; a build that was killed may still have a pip or a compiler running",
        )
        with exclusive(self.folder.parent / f".{self.name}.lock", taken) as lock:
            yield lock


def environments_folder(workspace: Workspace) -> Path:
    """The folder of all built environments."""
    named = os.environ.get(VARIABLE)
    folder = Path(named).expanduser().absolute() if named else workspace.root / "envs"
    if _ODD.search(str(folder)):
        raise UserError(
            "the folder of environments has a colon or a control character in its path",
            where=str(folder),
            hint="HPCBENCH_ENVS names another folder for environments",
        )
    return folder


def place(workspace: Workspace, name: str) -> Place:
    """Where the environment called `name` lies, or would. Raises UserError for what is no name."""
    try:
        check_name(name)
    except ValueError as error:
        raise UserError(str(error), where=name) from error
    return Place(name, environments_folder(workspace) / name)


def places(workspace: Workspace) -> list[Place]:
    """Every environment that is there, whole or not, by name."""
    found = [Place(path.name, path) for path in sorted(environments_folder(workspace).glob("[!.]*"))]
    return [each for each in found if each.exists]
