"""A machine laid out as files, for what reads /proc and /sys."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcbench.monitor.files import Files
from hpcbench.monitor.processes import OwnProcesses
from hpcbench.monitor.sources.base import Place, Source


class Machine:
    """Files below a folder that stands for `/`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.own = OwnProcesses("mark", str(root))
        self.place = Place(self.own, Files(), str(root))

    def write(self, path: str, content: object) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{content}\n")  # in place: what holds it open sees it

    def remove(self, path: str) -> None:
        """As a device that is unplugged: what holds the file open sees nothing any more."""
        (self.root / path).write_text("")
        (self.root / path).unlink()

    @staticmethod
    def values(source: Source) -> dict[str, float | None]:
        return dict(zip(source.columns, source.read(), strict=True))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)
