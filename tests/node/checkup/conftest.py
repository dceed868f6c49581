"""Machines that are laid out as files, in place of /proc and /sys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hpcbench.node.checkup.system import System

Lay = Callable[..., System]


@pytest.fixture
def lay(tmp_path: Path) -> Lay:
    """Write these files below a root of their own; the machine with them, of which `cpus` are usable."""

    def make(files: Mapping[str, str], cpus: list[int] | None = None) -> System:
        root = tmp_path / "machine"
        root.mkdir(exist_ok=True)
        for name, text in files.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return System([0, 1] if cpus is None else cpus, str(root))

    return make
