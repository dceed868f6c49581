"""Operators that were listed before, in a file per network: a second prediction starts no framework."""

from __future__ import annotations

import json
from pathlib import Path

from hpcbench.core.files import write_whole
from hpcbench.core.profiling.operator_list import OperatorList
from hpcbench.core.typed_json import from_json, to_json
from hpcbench.util.fast_json import decoded

MAX_BYTES = 2**26  # of a file; another user may have written it


def cached(folder: Path, identity: str) -> OperatorList | None:
    """Return the operators that were listed for a network; None if they were not, or if their file is damaged."""
    file = _file(folder, identity)
    try:
        if file.stat().st_size > MAX_BYTES:
            return None
        return from_json(OperatorList, decoded(file.read_bytes()))
    except (OSError, ValueError):
        return None


def keep(folder: Path, identity: str, found: OperatorList) -> None:
    """Keep the operators of a network. A list without operators is not kept: its reason may be temporary.

    Raise OSError if the file cannot be written.
    """
    if found.operators:
        write_whole(str(_file(folder, identity)), json.dumps(to_json(found), separators=(",", ":")) + "\n")


def _file(folder: Path, identity: str) -> Path:
    return folder / f"{identity[:32]}.json"
