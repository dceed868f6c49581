"""Which elements of a job each index of an array runs, one after another: a file for each batch, a line for each index.

The job script reads the file with nothing but sed, so it is plain numbers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from hpcbench.core.files import no_link
from hpcbench.errors import UserError
from hpcbench.plan.packing import Pack
from hpcbench.util.bounded_read import content


def write(path: Path, packs: Iterable[Pack]) -> None:
    """Whole or not at all: no array must find half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}")
    with open(unfinished, "w", encoding="ascii", opener=no_link) as file:
        file.writelines(" ".join(map(str, pack)) + "\n" for pack in packs)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)


def read(path: Path) -> tuple[Pack, ...]:
    """The packs of a batch, by array index. Raises UserError where they cannot be read."""
    try:
        lines = content(path).decode("ascii").splitlines()
        return tuple(tuple(map(int, line.split())) for line in lines)
    except (OSError, ValueError) as error:
        raise UserError(
            f"cannot be read: {error}", where=str(path), hint="it was written by sweep or resume"
        ) from error
