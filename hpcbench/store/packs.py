"""The elements that each array index of a job runs, one after another: one file per batch, one line per index.

The driver of a job reads the line of its array index.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hpcbench.core.files import write_whole
from hpcbench.core.run_spec import Pack
from hpcbench.errors import UserError
from hpcbench.util.bounded_read import content


def write(path: Path, packs: Iterable[Pack]) -> None:
    """Write the elements of each array index, completely or not at all, since array tasks read the file."""
    write_whole(str(path), "".join(" ".join(map(str, pack)) + "\n" for pack in packs), durable=True)


def read(path: Path) -> tuple[Pack, ...]:
    """Return the elements of a batch by array index. Raise UserError if the file cannot be read."""
    try:
        lines = content(path).decode("ascii").splitlines()
        return tuple(tuple(map(int, line.split())) for line in lines)
    except (OSError, ValueError) as error:
        raise UserError(
            f"the file cannot be read: {error}", where=str(path), hint="start a new sweep: hpcbench sweep --from SWEEP"
        ) from error
