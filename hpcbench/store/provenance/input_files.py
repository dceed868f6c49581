"""The copies of the CSV files of an experiment in the folder of a sweep, from which it can be planned again."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path

INPUTS = "inputs"
_ODD = re.compile(r"[^A-Za-z0-9._-]")
_MOST_OF_NAME = 100  # characters


def copy_of(folder: Path, name: str) -> Path:
    """Return the path of the copy of a file in the folder of a sweep, which need not exist.

    `name` is its path in the experiment. The hash keeps files of the same name apart.
    """
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return folder / INPUTS / f"{digest}-{_ODD.sub('_', Path(name).name)[-_MOST_OF_NAME:]}"


def copy_or(folder: Path, locate: Callable[[str], Path]) -> Callable[[str], Path]:
    """Return a function that finds a file by its path in the experiment: the copy in a sweep, otherwise by `locate`."""

    def located(name: str) -> Path:
        copy = copy_of(folder, name)
        return copy if copy.is_file() else locate(name)

    return located


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write copies of files, given by their texts, into the folder of a sweep. Raise OSError if the disk is full."""
    for name, text in files.items():
        copy = copy_of(folder, name)
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(text, encoding="utf-8", newline="")
