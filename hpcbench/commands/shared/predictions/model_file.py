"""The file of fitted models: its default name, and its text."""

from __future__ import annotations

from pathlib import Path

from hpcbench.errors import UserError

DEFAULT_FILE = "fleet.json"  # in the workspace
FIT = "hpcbench predictor fit"
MOST_BYTES = 256 * 2**20  # of a file; the model of one kind of operator has up to 0.4 MB
_MAKE_ONE = f"make one: {FIT}"


def text_of(path: Path) -> str:
    """Return the text of a model file. Raise UserError if it is missing, larger than MOST_BYTES, or not text."""
    if not path.is_file():
        raise UserError("model file not found", where=str(path), hint=_MAKE_ONE)
    if path.stat().st_size > MOST_BYTES:
        what = f"not a model file of {FIT}: it is larger than {MOST_BYTES // 2**20} MB"
        raise UserError(what, where=str(path), hint=_MAKE_ONE)
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"not a model file of {FIT}", where=str(path), hint=_MAKE_ONE) from error
